"""Robust: a Flower strategy for every rule. What nodes send never stops a round, nor makes it an average."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from logging import INFO
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy
from flwr.supercore import log as flower_log
from numpy.typing import NDArray

from ..aggregators import fedavg
from ..buffers import BUFFERS, combined_buffers
from ..core import Aggregate, Bound, bind
from ..diagnostics import Diagnostics, Dropped
from ..errors import InputError, TooFewClientsError
from ..screening import defend
from .decoding import Code
from .inner import sampler_of, stepped_by
from .metrics import OWN, averaged_metrics, diagnosed, refusals
from .model import Model, Reference, moved, own_update
from .progress import Progress, load_progress, restore_inner, save_progress
from .replies import Refused, Reply, sorted_replies

__all__ = ["Robust"]

Array = NDArray[Any]

log = logging.getLogger("holdfast")


class Robust(Strategy):
    """A Flower strategy that aggregates with a rule of holdfast; nothing else of a ServerApp changes.

    `rule` is a rule with its settings. `inner` is a strategy (FedAdam, FedProx, ...) that gets the defended
    model as the only reply, so that it samples and takes its server step; without one, Flower's FedAvg
    samples, and takes its arguments from here (`fraction_train`, `min_available_nodes`, ...). With fewer than
    `min_replies` good replies the model stays as it is: of two, no rule can tell who is wrong. `buffers` are
    the names, or patterns, of arrays that are no parameters. `reference` gives the server's own model to
    rules that ask for it (FLTrust). `checkpoint` is a file that holds where the training stands after each
    round, and `resume` starts from it. `explain` measures every node, for a bit more time; `seed` is for
    rules that draw.

    >>> from holdfast import invariant
    >>> strategy = Robust(bind(invariant, alpha=0.25), fraction_train=0.5, min_available_nodes=4)
    >>> print(strategy.rule)
    invariant(tau=0.6, alpha=0.25, strict=False)
    """

    def __init__(
        self,
        rule: Bound[Aggregate] | Callable[..., Aggregate],
        *,
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
        self.rule = rule if isinstance(rule, Bound) else bind(rule)
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
        if not isinstance(min_replies, int) or min_replies < 1:
            raise InputError(f"min_replies must be a whole number of at least 1; got {min_replies!r}")
        if resume and checkpoint is None:
            raise InputError("resume=True needs checkpoint=, the file to start from")
        #: What the last round said of itself, for whoever wants more than numbers.
        self.diagnostics: Diagnostics | None = None
        self._model: Model | None = None
        self._asked: set[int] = set()
        self._state: Any = None
        self._previous: list[Array] | None = None
        self._rounds_before = 0

    def summary(self) -> None:
        """Log what is set."""
        flower_log(INFO, "\t├──> Robust: %s", self.rule)
        self.inner.summary()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Keep the global model, and let the inner strategy sample nodes."""
        self._model = Model.of(arrays, buffers=self.buffers)
        number = server_round + self._rounds_before
        messages = list(self.inner.configure_train(number, arrays, config, grid))
        self._asked = {message.metadata.dst_node_id for message in messages}
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the next global model, the same if too few replies are good, and what there is to say."""
        if self._model is None:
            raise InputError("aggregate_train came before configure_train: the global model is not known")
        model, number = self._model, server_round + self._rounds_before
        if not self._asked:
            return model.record, None
        found = sorted_replies(replies, model=model, asked=self._asked, count_key=self._count_key)
        self._tell(found.refused)
        result = self._defended(model, found.good, number)
        said = result.diagnostics
        assert said is not None
        nodes = set(said.clients)
        used = [reply for reply in found.good if reply.node in nodes]
        refused = [
            *found.refused,
            *(Refused(drop.client, Code.VALUES, drop.reason) for drop in said.dropped),
        ]
        arrays = self._stepped(model, result, used, number) if said.aggregated else None
        if arrays is None:
            arrays, said = model.record, replace(said, aggregated=False)
        else:
            self._state = result.state
            self._previous = list(result.update) if self.rule.needs("previous") else None
        dropped = tuple(Dropped(one.node, one.reason) for one in refused)
        self.diagnostics = replace(said, dropped=dropped)
        if self.checkpoint is not None:
            progress = Progress(number, arrays, self._state, self._previous)
            save_progress(self.checkpoint, progress, rule=self.rule, inner=self.inner)
        metrics = self._averaged(used, "train_metrics_aggr_fn")
        return arrays, MetricRecord(metrics | diagnosed(said) | refusals(refused))

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Let the inner strategy sample nodes."""
        number = server_round + self._rounds_before
        messages = list(self.inner.configure_evaluate(number, arrays, config, grid))
        self._asked = {message.metadata.dst_node_id for message in messages}
        return messages

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return the metrics of all replies that can be, averaged by examples, and who was left out."""
        if not self._asked:
            return None
        found = sorted_replies(replies, model=None, asked=self._asked, count_key=self._count_key)
        self._tell(found.refused)
        if not found.good:
            log.error("no usable reply: round %d is not evaluated", server_round + self._rounds_before)
        metrics = self._averaged(found.good, "evaluate_metrics_aggr_fn")
        return MetricRecord({**metrics, OWN + "used": len(found.good), **refusals(found.refused)})

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
        self._state, self._previous, self._rounds_before = None, None, 0
        before = 0
        if self.resume and self.checkpoint is not None and self.checkpoint.exists():
            progress = load_progress(self.checkpoint, rule=self.rule, like=initial_arrays)
            initial_arrays, self._state = progress.arrays, progress.state
            self._previous, self._rounds_before = progress.previous, progress.round
            restore_inner(self.inner, progress)
            before = progress.round
            flower_log(INFO, "Going on after round %d of %d", before, num_rounds)
        evaluate = evaluate_fn and (lambda number, arrays: evaluate_fn(number + before, arrays))
        result = super().start(
            grid,
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

    @property
    def _count_key(self) -> str:
        return str(getattr(self.inner, "weighted_by_key", "num-examples"))

    def _tell(self, refused: Iterable[Refused]) -> None:
        for one in refused:
            log.warning("%s dropped %s", self.rule.name, Dropped(one.node, one.reason))

    def _averaged(self, replies: Sequence[Reply], own_function: str) -> dict[str, Any]:
        average = getattr(self.inner, own_function, None)
        if getattr(average, "__name__", "") == "aggregate_metricrecords":  # Flower's own, which trusts
            average = None
        return averaged_metrics(replies, count_key=self._count_key, average=average)

    def _defended(self, model: Model, replies: Sequence[Reply], number: int) -> Aggregate:
        """Return what the rule makes of the replies."""
        if len(replies) < self.min_replies:
            return self._undefended(f"{len(replies)} good replies; min_replies is {self.min_replies}")
        base = list(model.params.values())
        reference = None
        if self.rule.needs("reference"):
            assert self.reference is not None
            reference = own_update(model, self.reference)
        rng = np.random.default_rng(None if self.seed is None else [self.seed, number])
        try:
            result = defend(
                [reply.params for reply in replies],
                self.rule,
                base=base,
                params=base if self.rule.needs("params") else None,
                weights=[reply.examples for reply in replies],
                clients=[reply.node for reply in replies],
                state=self._state,
                previous=self._previous,
                reference=reference,
                rng=rng,
                explain=self.explain,
            )
        except TooFewClientsError as error:
            return self._undefended(str(error))
        said = result.diagnostics
        if said is not None and said.aggregated and len(said.clients) < self.min_replies:
            return self._undefended(
                f"{len(said.clients)} good replies; min_replies is {self.min_replies}", said.dropped
            )
        return result

    def _undefended(self, why: str, dropped: tuple[Dropped, ...] = ()) -> Aggregate:
        """Return what stands for a round without an update, loudly."""
        log.error("%s did not aggregate, the model stays as it is: %s", self.rule.name, why)
        said = Diagnostics(self.rule.name, (), dropped, aggregated=False, notes=(why,))
        return Aggregate(None, self._state, said)

    def _stepped(
        self, model: Model, result: Aggregate, used: Sequence[Reply], number: int
    ) -> ArrayRecord | None:
        """Return the next global model: the defended one, or what the inner strategy makes of it."""
        buffers = combined_buffers(
            [reply.buffers for reply in used],
            base=model.buffers,
            weights=[reply.examples for reply in used],
            averaged=self.rule.function is fedavg,
            clients=[reply.node for reply in used],
        )
        record = moved(model, result.update, buffers)
        if record is not None and self.steps:
            metrics = averaged_metrics(used, count_key=self._count_key, average=None)
            metrics[self._count_key] = max(1, round(sum(reply.examples for reply in used)))
            record = stepped_by(self.inner, model, record, MetricRecord(metrics), number)
        if record is None:
            log.error("the new model would not be finite: it stays as it is")
        return record
