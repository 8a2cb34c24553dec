"""A round of the strategy: whom it asks, what it makes of the replies, and what it says of both."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from logging import WARNING
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, Metadata, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from flwr.supercore import log as flower_log
from numpy.typing import NDArray

from ..core import Memory, Rule, Watch
from ..core.diagnostics import Diagnostics, Dropped
from ..defending import Defended, defend
from ..defending.screening import screen
from ..errors import InputError
from ..ledger import RoundEntry, entry_of, model_hash
from ..watching import ClientMemory, Verdicts
from .decoding import Code, model_arrays, model_record
from .ending import Stopped
from .grid import without
from .inner import Reference, begin_anew, own_update, stepped_by
from .metrics import (
    OWN,
    averaged_metrics,
    capped_examples,
    common_metrics,
    diagnosed,
    left_out,
    watched_over,
)
from .operating import Desk
from .replies import Refused, Reply, length_of, sorted_replies

__all__ = ["Rounds"]

Array = NDArray[Any]

log = logging.getLogger("holdfast")


class Rounds(Strategy):
    """What `Robust` does in a round, from what is set there."""

    rule: Rule
    watch: Watch | None
    inner: Strategy  # samples the nodes
    steps: bool  # and takes a step from the defended model
    min_replies: int
    buffers: tuple[str, ...]
    reference: Reference | None
    explain: bool
    seed: int | None
    desk: Desk
    #: What the last round said of itself, for whoever wants more than numbers.
    diagnostics: Diagnostics | None
    #: What the watch says of all nodes that were ever heard.
    verdicts: Verdicts | None
    _record: ArrayRecord | None  # the global model as it was sent out
    _model: dict[str, Array]  # and its arrays by name
    _hashed: tuple[ArrayRecord | None, str]  # the model whose hash is known
    _asked: dict[int, Metadata]  # [node] of the message that it was sent
    _inner_start: dict[str, Any]  # what the inner strategy has before the first step
    _state: Memory
    _rounds_before: int

    def keep(self, number: int, arrays: ArrayRecord) -> None:
        """Keep where the training stands after a round."""
        raise NotImplementedError

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Keep the global model, and let the inner strategy sample nodes."""
        if self.desk.stopping is not None:
            raise Stopped
        self._record, self._model = arrays, model_arrays(arrays)
        screen({}, base=self._model, buffers=self.buffers)  # raises before nodes train what cannot be used
        number = server_round + self._rounds_before
        self.desk.begin_round()
        asking = self._asking(self.inner.configure_train(number, arrays, config, self._seen(grid)))
        remembered = () if self._state.watch is None else self._state.watch.clients
        self.desk.recognise(grid.get_node_ids(), remembered)  # now that enough nodes have connected
        if 0 < len(asking) < self.min_replies:
            flower_log(
                WARNING,
                "round %d asks %d nodes, and min_replies is %d: nothing can be aggregated. Sample more nodes"
                " (fraction_train, min_train_nodes), or lower min_replies",
                number,
                len(asking),
                self.min_replies,
            )
        return asking

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the next global model, the same if too few replies are usable, and what there is to say."""
        if self._record is None:
            raise InputError("aggregate_train came before configure_train: the global model is not known")
        if not self._asked:
            return self._record, None
        number = server_round + self._rounds_before
        self.desk.read_decisions()
        good, refused = self._sorted(replies, self._model)
        heard = good
        result = self._defended(good, number)
        compared = result.diagnostics  # with those, too, who are banned meanwhile
        self.desk.judge(result.verdicts, number)
        while newly := [reply for reply in good if reply.node in self.desk.banned]:
            good = [reply for reply in good if reply.node not in self.desk.banned]
            refused += self._told(Refused(one.node, Code.BANNED, self.desk.banned[one.node]) for one in newly)
            result = self._defended(good, number)
            self.desk.judge(result.verdicts, number)  # without those, others may stand out
        if self.desk.stopping:
            result = _not_rewound(result, self._state)
        said, nodes = result.diagnostics, set(result.diagnostics.clients)
        refused += _not_used(result)
        used, _ = capped_examples([reply for reply in good if reply.node in nodes])
        used, odd = common_metrics(used, count_key=self._count_key)
        arrays = None if self.desk.stopping else self._next_model(result, used, number)
        state = result.state
        dropped = tuple(Dropped(one.node, one.reason) for one in refused)
        self.diagnostics = replace(
            said,
            aggregated=said.aggregated and arrays is not None,
            dropped=dropped,
            identical=compared.identical,
            unchanged=compared.unchanged,
        )
        if arrays is None:  # of a round without a step, only the watch remembers what it heard
            arrays, state = self._record, replace(self._state, watch=state.watch, start=state.start)
        self._state, self.verdicts = state, result.verdicts or self.verdicts
        averages = self._averaged(used, "train_metrics_aggr_fn")
        self.desk.tell(self._entry(number, arrays, heard, refused, result.verdicts, averages))
        self.keep(number, arrays)  # after the ledger: a round that is resumed from is in it
        metrics = diagnosed(self.diagnostics) | watched_over(result.verdicts) | left_out(refused, odd)
        return arrays, MetricRecord(averages | metrics)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Let the inner strategy sample nodes."""
        number = server_round + self._rounds_before
        return self._asking(self.inner.configure_evaluate(number, arrays, config, self._seen(grid)))

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return the metrics of all usable replies, averaged by examples, and who was left out."""
        if not self._asked:
            return None
        number = server_round + self._rounds_before
        good, refused = self._sorted(replies, None)
        if not good:
            log.error("no usable reply: round %d is not evaluated", number)
        used, notes = capped_examples(good)
        for note in notes:
            log.warning("%s: %s", self.rule.name, note)
        used, odd = common_metrics(used, count_key=self._count_key)
        averages = self._averaged(used, "evaluate_metrics_aggr_fn")
        if self.desk.keeps and averages:
            self.desk.measured(number, averages)
        return MetricRecord({**averages, OWN + "used": len(used), **left_out(refused, odd)})

    def _entry(
        self,
        number: int,
        arrays: ArrayRecord,
        heard: Sequence[Reply],
        refused: Sequence[Refused],
        verdicts: Verdicts | None,
        averages: dict[str, Any],
    ) -> RoundEntry:
        """Return what is to be written of this round."""
        assert self.diagnostics is not None
        before, self._hashed = self._hash_of(self._record), (arrays, self._hash_of(arrays))
        told = {} if self.diagnostics.norms is None else dict.fromkeys(self.diagnostics.clients)
        unmeasured = [reply for reply in heard if reply.node not in told] if self.desk.keeps else []
        return entry_of(
            self.diagnostics,
            verdicts,
            round=number,
            rule=str(self.rule),
            watch=None if self.watch is None else str(self.watch),
            asked=self._asked,
            examples={reply.node: reply.examples for reply in heard},
            codes={one.node: int(one.code) for one in refused},
            lengths={one.node: length_of(one.model, self._model, self.buffers) for one in unmeasured},
            model_before=before or None,
            model_after=self._hashed[1] or None,
            seconds=self.desk.seconds,
            metrics=averages,
        )

    def _hash_of(self, arrays: ArrayRecord | None) -> str:
        """Return the hash of a model, which takes a while, where there is a ledger for it."""
        if not self.desk.keeps or arrays is None:
            return ""
        return self._hashed[1] if arrays is self._hashed[0] else model_hash(model_arrays(arrays))

    def _seen(self, grid: Grid) -> Grid:
        """Return the grid as the inner strategy samples from it: without nodes that have no say."""
        needed = ("min_available_nodes", "min_train_nodes", "min_evaluate_nodes")
        least = max([1, *(int(getattr(self.inner, name, 0)) for name in needed)])
        return without(grid, self.desk.banned, least=least)

    def _asking(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages to nodes that have a say, and remember whom they ask."""
        sent = [one for one in messages if one.metadata.dst_node_id not in self.desk.banned]
        self._asked = {message.metadata.dst_node_id: message.metadata for message in sent}
        return sent

    @property
    def _count_key(self) -> str:
        return str(getattr(self.inner, "weighted_by_key", "num-examples"))

    def _sorted(
        self, replies: Iterable[Message], model: dict[str, Array] | None
    ) -> tuple[list[Reply], list[Refused]]:
        good, refused = sorted_replies(
            replies, model=model, asked=self._asked, count_key=self._count_key, banned=self.desk.banned
        )
        return good, self._told(refused)

    def _told(self, refused: Iterable[Refused]) -> list[Refused]:
        """Return them, each with a line in the log."""
        told = list(refused)
        for one in told:
            log.warning("%s dropped %s", self.rule.name, Dropped(one.node, one.reason))
        return told

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
            pardoned=self.desk.pardoned,
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


def _not_rewound(result: Defended, before: Memory) -> Defended:
    """Return the same of a round that ends the training: its model stays, so it did not go back to its start.

    The start is kept for whoever resumes.
    """
    if result.verdicts is None or not result.verdicts.rewound:
        return result
    known = before.watch or ClientMemory()
    heard = replace(result.state.watch, n_applied=known.n_applied, n_rewinds=known.n_rewinds)
    return replace(
        result, state=replace(before, watch=heard), verdicts=replace(result.verdicts, rewound=False)
    )


def _not_used(result: Defended) -> list[Refused]:
    """Return whose replies were left out in the round itself: by the watch, or for their values."""
    verdicts = result.verdicts
    expelled = set() if verdicts is None else {*verdicts.of("expelled"), *verdicts.of("counts as one")}

    def code(drop: Dropped) -> Code:
        if not drop.heard:
            return Code.VALUES
        return Code.EXPELLED if drop.client in expelled else Code.NO_SAY

    return [Refused(drop.client, code(drop), drop.reason) for drop in result.diagnostics.dropped]
