"""Robust: a Flower strategy for every rule. What nodes send never stops a round, nor makes it an average."""

from collections.abc import Callable, Collection, Mapping, Sequence
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy
from flwr.supercore import log as flower_log

from .._support.counting import check_whole
from ..core import Aggregate, Memory, Rule, Watch, bind
from ..defending.rehearsing import rehearse
from ..errors import InputError, TooFewClientsError
from ..ledger import Policy
from ..updates.forms import BUFFERS
from .ending import ShouldStop, Stopped, flowers_format, numbered_from, stop_argument
from .grid import guarded
from .inner import Reference, fewest_asked, sampler_of
from .operating import Desk, OnVerdict
from .progress import Standing, check_place, held_already, keep_progress, load_progress
from .rounds import Rounds

__all__ = ["Robust"]


class Robust(Rounds):
    """A Flower strategy that aggregates with a rule of holdfast; nothing else of a ServerApp changes.

    `rule` is a rule with its settings. A watch pays from about 50 nodes and 50 rounds on; with fewer, take
    the rule alone. `watch`, such as `factions()`, remembers nodes by their ids and expels
    those who vote together against all others; what it says of each is in `verdicts`. `inner` is a strategy
    (FedAdam, FedProx, ...) that gets the defended model as the only reply, so that it samples and takes its
    server step; without one, Flower's FedAvg samples, and takes its arguments from here (`fraction_train`,
    `min_available_nodes`, ...). With fewer than `min_replies` usable replies the model stays as it is: of
    two, no rule can tell who is wrong. `buffers` names arrays that are no parameters, by patterns.
    `reference` trains the model on the server's own data, for rules that ask for it (FLTrust). `checkpoint`
    is a file that holds where the training stands after each round, and `resume` starts from it; without
    `resume`, a file that is there already is refused, never overwritten. One of `keep_every` rounds is kept
    beside it, `most_kept` in all, so that the training can be rewound. `explain` measures every node, which
    takes a little longer; `seed` is for rules that draw noise and for the watch, which looks at a secret
    sample of the coordinates.

    `ledger` is a file in which every round is written down, and in which operators ban and pardon nodes while
    the training runs. Nodes in `exclude` never have a say. `policy` says what happens on a verdict of the
    watch, and `on_verdict` is called with each verdict that changed, and the round.

    >>> from holdfast import invariant
    >>> strategy = Robust(invariant(alpha=0.25), fraction_train=0.5, min_available_nodes=4)
    >>> print(strategy.rule)
    invariant(tau=0.6, alpha=0.25, strict=False)
    """

    def __init__(
        self,
        rule: Rule | Callable[..., Aggregate],
        *,
        watch: Watch | None = None,
        inner: Strategy | None = None,
        min_replies: int = 3,
        buffers: Sequence[str] = BUFFERS,
        reference: Reference | None = None,
        explain: bool = True,
        seed: int | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        keep_every: int = 0,
        most_kept: int = 10,
        ledger: str | Path | None = None,
        exclude: Collection[int] = (),
        policy: str | Path | Policy | Mapping[str, Any] | None = None,
        on_verdict: OnVerdict | None = None,
        **sampling: Any,
    ) -> None:
        """Check what is set; `sampling` are the arguments of Flower's FedAvg."""
        self.rule = bind(rule)
        rehearse(self.rule)
        self.desk = Desk(ledger=ledger, exclude=exclude, policy=policy, on_verdict=on_verdict)
        self.watch = _watch_under(self.desk, watch)
        self.inner = sampler_of(inner, sampling)
        self.steps = inner is not None
        self.min_replies = min_replies
        self.buffers = (buffers,) if isinstance(buffers, str) else tuple(buffers)
        self.reference, self.explain, self.seed = reference, explain, seed
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.resume, self.keep_every, self.most_kept = resume, keep_every, most_kept
        if self.rule.needs("reference") and reference is None:
            raise InputError(
                f"{self.rule.name} needs the server's own update: pass reference=, a function that takes the"
                " global model (a dict of arrays) and returns it trained on data the server trusts"
            )
        if self.watch is not None:
            rehearse(self.watch)
        if seed is not None:
            check_whole("seed", seed, at_least=0)
        check_whole("min_replies", min_replies, at_least=1)
        self._check_withstands()
        check_whole("keep_every", keep_every, at_least=0)
        check_whole("most_kept", most_kept, at_least=1)
        for name, given in (("resume=True", resume), ("keep_every", keep_every)):
            if given and checkpoint is None:
                raise InputError(f"{name} needs checkpoint=, the file to start from")
        self.diagnostics = self.verdicts = self._record = None
        self._model, self._hashed, self._asked = {}, (None, ""), {}
        self._inner_start = dict(vars(self.inner))
        self._state = Memory()
        self._rounds_before = 0
        self._so_far = Result()

    def summary(self) -> None:
        """Log what is set."""
        flower_log(INFO, "\t├──> Robust: %s", self.rule)
        if self.watch is not None:
            flower_log(INFO, "\t├──> Watch: %s", self.watch)
        if self.desk.policy is not None:
            flower_log(INFO, "\t├──> On a verdict: %s", self.desk.policy.on_verdict)
        if self.desk.path is not None:
            flower_log(INFO, "\t├──> Ledger: %s", self.desk.path)
        self.inner.summary()

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
        should_stop: ShouldStop | None = None,
    ) -> Result:
        """Run the rounds, with `resume` those that the checkpoint has not seen; num_rounds counts all."""
        arrays, before = self._start_from(initial_arrays, num_rounds)
        stop: dict[str, Any] = stop_argument(
            lambda: self.desk.stopping is not None, should_stop, before=before
        )
        self._rounds_before, self._so_far = before, Result(arrays=arrays)
        begun: dict[str, Any] = {"rule": str(self.rule), "watch": self.watch and str(self.watch)}
        begun |= {"min_replies": self.min_replies, "n_rounds": num_rounds}
        given: dict[str, Any] = {"train_config": train_config, "evaluate_config": evaluate_config}
        given["evaluate_fn"] = evaluate_fn and self._evaluating(evaluate_fn)
        hashed = self._hash_of(arrays) or None
        with flowers_format(), self.desk.training(after=before, model=hashed, **begun):
            try:
                left = max(0, num_rounds - before)
                result = super().start(guarded(grid), arrays, left, timeout, **given, **stop)
            except Stopped:  # of a Flower that cannot be told to
                result = self._so_far
        if not result.arrays:
            result.arrays = arrays
        return numbered_from(result, before)

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        """Return the next global model, the same if too few replies are usable, and what there is to say."""
        arrays, metrics = super().aggregate_train(server_round, replies)
        if arrays is not None:
            self._so_far.arrays = arrays
        if metrics is not None:
            self._so_far.train_metrics_clientapp[server_round] = metrics
        return arrays, metrics

    def aggregate_evaluate(self, server_round: int, replies: Any) -> MetricRecord | None:
        """Return the metrics of all usable replies, averaged by examples, and who was left out."""
        metrics = super().aggregate_evaluate(server_round, replies)
        if metrics is not None:
            self._so_far.evaluate_metrics_clientapp[server_round] = metrics
        return metrics

    def keep(self, number: int, arrays: ArrayRecord) -> None:
        """Write the checkpoint after a round, and keep one of some."""
        if self.checkpoint is None:
            return
        keep_progress(
            self.checkpoint,
            Standing(number, arrays, self._state),
            rule=self.rule,
            watch=self.watch,
            inner=self.inner,
            most_kept=self.most_kept if self.keep_every and number % self.keep_every == 0 else 0,
        )

    def _check_withstands(self) -> None:
        """Raise if the smallest round that the sampling allows is too small for the rule."""
        n_asked = fewest_asked(self.inner)
        if n_asked is None:
            return
        try:
            rehearse(self.rule, n_clients=max(n_asked, self.min_replies))
        except TooFewClientsError as error:
            raise InputError(
                f"{error} (min_available_nodes, fraction_train and min_train_nodes say how many nodes a round"
                " asks at least)"
            ) from None

    def _start_from(self, initial_arrays: ArrayRecord, num_rounds: int) -> tuple[ArrayRecord, int]:
        """Return the model to start from, and after which round that is; the memory is as it was then."""
        self._state, self.verdicts = Memory(), None
        if self.checkpoint is not None:
            check_place(self.checkpoint)
        if self.checkpoint is None or not self.checkpoint.exists():
            return initial_arrays, 0
        if not self.resume:
            raise InputError(held_already(self.checkpoint))
        progress = load_progress(
            self.checkpoint, rule=self.rule, watch=self.watch, inner=self.inner, like=initial_arrays
        )
        self._state = progress.memory
        if progress.round < num_rounds:
            flower_log(INFO, "Resuming after round %d of %d", progress.round, num_rounds)
        else:
            flower_log(
                WARNING,
                "%s is after round %d, and num_rounds=%d counts all rounds: nothing is left to do. Raise"
                " num_rounds to train on",
                self.checkpoint,
                progress.round,
                num_rounds,
            )
        return progress.arrays, progress.round

    def _evaluating(
        self, evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None]
    ) -> Callable[[int, ArrayRecord], MetricRecord | None]:
        """Return the user's function, with rounds counted from the first, and its results written down."""

        def evaluate(number: int, arrays: ArrayRecord) -> MetricRecord | None:
            metrics = evaluate_fn(number + self._rounds_before, arrays)
            if metrics is not None:
                self._so_far.evaluate_metrics_serverapp[number] = metrics
                if self.desk.keeps and number > 0:
                    self.desk.measured(number + self._rounds_before, dict(metrics))
            return metrics

        return evaluate


def _watch_under(desk: Desk, watch: Watch | None) -> Watch | None:
    """Return the watch in the mode that the policy needs."""
    if watch is not None and not isinstance(watch, Watch):
        raise InputError(f"watch must be a watch, such as factions(); got {type(watch).__name__}")
    if desk.policy is None:
        return watch
    if watch is None:
        raise InputError("a policy says what happens on verdicts: pass watch=, such as factions()")
    return desk.policy.applied_to(watch)
