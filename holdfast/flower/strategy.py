"""Robust: a Flower strategy for every rule. What nodes send never stops a round, nor makes it an average."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from logging import INFO
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, Metadata, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy
from flwr.supercore import log as flower_log
from numpy.typing import NDArray

from .._support.counting import check_whole
from ..core import Aggregate, Memory, Rule, Watch, bind
from ..core.diagnostics import Diagnostics, Dropped
from ..defending import Defended, defend
from ..defending.screening import screen
from ..errors import InputError
from ..updates.forms import BUFFERS
from ..watching import Verdicts
from .decoding import Code, model_arrays, model_record
from .grid import guarded
from .inner import Reference, begin_anew, own_update, sampler_of, stepped_by
from .metrics import (
    OWN,
    averaged_metrics,
    capped_examples,
    common_metrics,
    diagnosed,
    left_out,
    watched_over,
)
from .progress import Standing, check_place, keep_progress, load_progress
from .replies import Refused, Reply, sorted_replies

__all__ = ["Robust"]

Array = NDArray[Any]

log = logging.getLogger("holdfast")


class Robust(Strategy):
    """A Flower strategy that aggregates with a rule of holdfast; nothing else of a ServerApp changes.

    `rule` is a rule with its settings. `watch`, such as `factions()`, remembers nodes by their ids and expels
    those who vote together against all others; what it says of each is in `verdicts`. `inner` is a strategy
    (FedAdam, FedProx, ...) that gets the defended model as the only reply, so that it samples and takes its
    server step; without one, Flower's FedAvg samples, and takes its arguments from here (`fraction_train`,
    `min_available_nodes`, ...). With fewer than `min_replies` usable replies the model stays as it is: of
    two, no rule can tell who is wrong. `buffers` names arrays that are no parameters, by patterns.
    `reference` trains the model on the server's own data, for rules that ask for it (FLTrust). `checkpoint`
    is a file that holds where the training stands after each round, and `resume` starts from it. `explain`
    measures every node, which takes a little longer; `seed` is for rules that draw noise and for the watch,
    which looks at a secret sample of the coordinates.

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
        **sampling: Any,
    ) -> None:
        """Check what is set; `sampling` are the arguments of Flower's FedAvg."""
        self.rule: Rule = bind(rule)
        self.rule.check_complete()
        self.watch = watch
        self.inner = sampler_of(inner, sampling)
        self.steps = inner is not None
        self.min_replies = min_replies
        self.buffers = (buffers,) if isinstance(buffers, str) else tuple(buffers)
        self.reference, self.explain, self.seed = reference, explain, seed
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.resume = resume
        if self.rule.needs("reference") and reference is None:
            raise InputError(
                f"{self.rule.name} needs the server's own update: pass reference=, a function that takes the"
                " global model (a dict of arrays) and returns it trained on data the server trusts"
            )
        if watch is not None and not isinstance(watch, Watch):
            raise InputError(f"watch must be a watch, such as factions(); got {type(watch).__name__}")
        check_whole("min_replies", min_replies, at_least=1)
        if resume and checkpoint is None:
            raise InputError("resume=True needs checkpoint=, the file to start from")
        #: What the last round said of itself, for whoever wants more than numbers.
        self.diagnostics: Diagnostics | None = None
        #: What the watch says of all nodes that were ever heard.
        self.verdicts: Verdicts | None = None
        self._record: ArrayRecord | None = None  # the global model as it was sent out
        self._model: dict[str, Array] = {}  # and its arrays by name
        self._asked: dict[int, Metadata] = {}  # [node] of the message that it was sent
        self._inner_start = dict(vars(self.inner))  # what it has before the first step
        self._state = Memory()
        self._rounds_before = 0

    def summary(self) -> None:
        """Log what is set."""
        flower_log(INFO, "\t├──> Robust: %s", self.rule)
        if self.watch is not None:
            flower_log(INFO, "\t├──> Watch: %s", self.watch)
        self.inner.summary()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Keep the global model, and let the inner strategy sample nodes."""
        self._record, self._model = arrays, model_arrays(arrays)
        screen({}, base=self._model, buffers=self.buffers)  # raises before nodes train what cannot be used
        number = server_round + self._rounds_before
        return self._asking(self.inner.configure_train(number, arrays, config, grid))

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the next global model, the same if too few replies are usable, and what there is to say."""
        if self._record is None:
            raise InputError("aggregate_train came before configure_train: the global model is not known")
        if not self._asked:
            return self._record, None
        number = server_round + self._rounds_before
        good, refused = self._sorted(replies, self._model)
        result = self._defended(good, number)
        said, nodes = result.diagnostics, set(result.diagnostics.clients)
        refused += _not_used(result)
        used, _ = capped_examples([reply for reply in good if reply.node in nodes])
        used, odd = common_metrics(used, count_key=self._count_key)
        arrays, state = self._next_model(result, used, number), result.state
        dropped = tuple(Dropped(one.node, one.reason) for one in refused)
        self.diagnostics = replace(said, aggregated=said.aggregated and arrays is not None, dropped=dropped)
        if arrays is None:  # of a round without a step, only the watch remembers what it heard
            arrays, state = self._record, replace(self._state, watch=state.watch, start=state.start)
        self._state, self.verdicts = state, result.verdicts or self.verdicts
        if self.checkpoint is not None:
            progress = Standing(number, arrays, self._state)
            keep_progress(self.checkpoint, progress, rule=self.rule, watch=self.watch, inner=self.inner)
        averages = self._averaged(used, "train_metrics_aggr_fn")
        metrics = diagnosed(self.diagnostics) | watched_over(result.verdicts) | left_out(refused, odd)
        return arrays, MetricRecord(averages | metrics)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Let the inner strategy sample nodes."""
        number = server_round + self._rounds_before
        return self._asking(self.inner.configure_evaluate(number, arrays, config, grid))

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return the metrics of all usable replies, averaged by examples, and who was left out."""
        if not self._asked:
            return None
        good, refused = self._sorted(replies, None)
        if not good:
            log.error("no usable reply: round %d is not evaluated", server_round + self._rounds_before)
        used, notes = capped_examples(good)
        for note in notes:
            log.warning("%s: %s", self.rule.name, note)
        used, odd = common_metrics(used, count_key=self._count_key)
        averages = self._averaged(used, "evaluate_metrics_aggr_fn")
        return MetricRecord({**averages, OWN + "used": len(used), **left_out(refused, odd)})

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Run the rounds, with `resume` those that the checkpoint has not seen; num_rounds counts all."""
        self._state, self.verdicts, before = Memory(), None, 0
        if self.checkpoint is not None:
            check_place(self.checkpoint)
        if self.resume and self.checkpoint is not None and self.checkpoint.exists():
            progress = load_progress(
                self.checkpoint, rule=self.rule, watch=self.watch, inner=self.inner, like=initial_arrays
            )
            initial_arrays, self._state, before = progress.arrays, progress.memory, progress.round
            flower_log(INFO, "Resuming after round %d of %d", before, num_rounds)
        self._rounds_before = before
        evaluate = evaluate_fn and (lambda number, arrays: evaluate_fn(number + before, arrays))
        result = super().start(
            guarded(grid),
            initial_arrays,
            max(0, num_rounds - before),
            timeout,
            train_config,
            evaluate_config,
            evaluate,
        )
        if not result.arrays:
            result.arrays = initial_arrays
        for history in (
            result.train_metrics_clientapp,
            result.evaluate_metrics_clientapp,
            result.evaluate_metrics_serverapp,
        ):
            shifted = {number + before: record for number, record in history.items()}
            history.clear()
            history.update(shifted)
        return result

    def _asking(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages, and remember whom they ask."""
        sent = list(messages)
        self._asked = {message.metadata.dst_node_id: message.metadata for message in sent}
        return sent

    @property
    def _count_key(self) -> str:
        return str(getattr(self.inner, "weighted_by_key", "num-examples"))

    def _sorted(
        self, replies: Iterable[Message], model: dict[str, Array] | None
    ) -> tuple[list[Reply], list[Refused]]:
        good, refused = sorted_replies(replies, model=model, asked=self._asked, count_key=self._count_key)
        for one in refused:
            log.warning("%s dropped %s", self.rule.name, Dropped(one.node, one.reason))
        return good, refused

    def _averaged(self, replies: Sequence[Reply], own_function: str) -> dict[str, Any]:
        average = getattr(self.inner, own_function, None)
        if getattr(average, "__name__", "") == "aggregate_metricrecords":  # Flower's own, which trusts
            average = None
        return averaged_metrics(replies, count_key=self._count_key, average=average)

    def _defended(self, replies: Sequence[Reply], number: int) -> Defended:
        """Return what the rule makes of the replies, without the update, whose room is soon needed."""
        reference = None
        if self.reference is not None and self.rule.needs("reference") and len(replies) >= self.min_replies:
            reference = own_update(self._model, self.reference)
        result = defend(
            {reply.node: reply.model for reply in replies},
            self.rule,
            base=self._model,
            weights={reply.node: reply.examples for reply in replies},
            state=self._state,
            reference=reference,
            rng=np.random.default_rng(None if self.seed is None else [self.seed, number]),
            watch=self.watch,
            min_clients=self.min_replies,
            buffers=self.buffers,
            explain=self.explain,
        )
        return replace(result, update=None)

    def _next_model(self, result: Defended, used: Sequence[Reply], number: int) -> ArrayRecord | None:
        """Return the defended model, or what the inner strategy makes of it; None if the old one stays."""
        rewound = result.verdicts is not None and result.verdicts.rewound
        if not result.diagnostics.aggregated and not rewound:
            return None
        record = model_record(result.model)
        if rewound:
            begin_anew(self.inner, self._inner_start)
        if rewound or not self.steps:
            return record
        metrics = averaged_metrics(used, count_key=self._count_key)
        metrics[self._count_key] = max(1, round(sum(reply.examples for reply in used)))
        params = {name: own for name, own in self._model.items() if name not in result.buffers}
        stepped = stepped_by(self.inner, record, MetricRecord(metrics), number, params=params)
        if stepped is None:
            log.error("the step of the inner strategy would not be finite: the model stays as it is")
        return stepped


def _not_used(result: Defended) -> list[Refused]:
    """Return whose replies were left out in the round itself: by the watch, or for their values."""
    expelled = set() if result.verdicts is None else {*result.verdicts.of("expelled")}
    return [
        Refused(drop.client, Code.EXPELLED if drop.client in expelled else Code.VALUES, drop.reason)
        for drop in result.diagnostics.dropped
    ]
