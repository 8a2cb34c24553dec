"""The operator's desk: what a running strategy writes into its ledger, and what it is told to do."""

import logging
import shlex
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

from flwr.supercore import log as flower_log

from .._support.counting import counted
from .._support.printable import printable
from ..errors import HoldfastError, InputError
from ..ledger import Ledger, Policy, RoundEntry, open_ledger, read_policy
from ..ledger.lines import Lookout, summary_line
from ..ledger.opening import Action
from ..watching import Verdict, Verdicts
from .returning import Returning

__all__ = ["Desk", "OnVerdict"]

#: Called with the verdict on a node that stands otherwise than before, and the round.
OnVerdict = Callable[[Verdict, int], object]

POLL = 0.5  # seconds between two looks for an answer
#: What a metric of the model is called by those who report it, by the column of the ledger that it goes into.
KNOWN_AS = {
    "accuracy": ("accuracy", "acc", "eval_accuracy", "eval_acc", "test_accuracy", "test_acc"),
    "attack_success": ("attack-success", "attack_success", "asr"),
    "loss": ("loss", "eval_loss", "test_loss"),
}

#: What may go wrong with a ledger while a training runs: the disk is full, say.
WRONG = (HoldfastError, sqlite3.Error, OSError)
FAILED = "the ledger %s could not be %s: %s. The training continues"

log = logging.getLogger("holdfast")


class Desk:
    """Who has no say by decision, what happens on verdicts, and where all of it is written."""

    def __init__(
        self,
        *,
        ledger: str | Path | None,
        exclude: Collection[int],
        policy: str | Path | Policy | Mapping[str, Any] | None,
        on_verdict: OnVerdict | None,
    ) -> None:
        """Check what is set."""
        self.path = None if ledger is None else Path(ledger).absolute()  # as an operator has to name it
        self.excluded = dict.fromkeys(_ids(exclude), "excluded by the server")
        self.policy = None if policy is None else read_policy(policy)
        self.on_verdict = on_verdict
        if self.policy is not None and self.policy.on_verdict == "ask" and ledger is None:
            raise InputError("a policy that asks needs ledger=, where the operator's answers are written")
        if on_verdict is not None and not callable(on_verdict):
            raise InputError(f"on_verdict must be a function; got {type(on_verdict).__name__}")
        #: Who has no say in this round, and why; and whose say no watch takes.
        self.banned: dict[int, str] = dict(self.excluded)
        self.pardoned: frozenset[Any] = frozenset()
        #: Why the training is to end, once it is.
        self.stopping: str | None = None
        self._ledger: Ledger | None = None
        self._by_policy: dict[Any, tuple[str, str]] = {}  # which holds if it could not be written, too
        self._lookout = Lookout(noun="node")
        self._standings: dict[Any, str] = {}
        self._in_ledger: frozenset[Any] | None = None  # who was in the ledger when the training started
        self._former: frozenset[Any] = frozenset()  # whose ids have not come back
        self._started = time.monotonic()

    @contextmanager
    def training(self, *, after: int, model: str | None, **facts: Any) -> Iterator[None]:
        """Hold the ledger while rounds are made, after a round whose model had this hash."""
        self.stopping, self._standings, self._lookout = None, {}, Lookout(noun="node")
        self._in_ledger, self._former = frozenset(), frozenset()
        if self.path is None:
            yield
            return
        with open_ledger(self.path) as ledger:
            ledger.hold()
            self._ledger = ledger
            last = {one["round"]: one for one in self._ledger.rounds()}
            if after and model not in (known := last.get(after, {}).get("model_after"), None) and known:
                log.warning("%s has another model after round %d than the checkpoint", self.path, after)
            undone = self._ledger.begin(after=after, source="flower", **facts)
            if undone:
                log.warning(
                    "%s: marked as undone: %s after round %d", self.path, counted(len(undone), "round"), after
                )
            clients = self._ledger.clients()
            self._in_ledger = frozenset(one["id"] for one in clients if one["first_round"] is not None)
            self._former = frozenset(one["id"] for one in clients if one["former"])
            self._standings = {one["id"]: one["standing"] for one in clients if one["standing"]}
            if facts.get("watch") is None:
                self._warn_of_expelled()
            try:
                yield
            finally:
                self._ledger = None

    def _warn_of_expelled(self) -> None:
        """Warn of those who have a say again because the watch that expelled them is gone."""
        expelled = [
            node for node, standing in self._standings.items() if standing in ("expelled", "counts as one")
        ]
        if expelled:
            log.warning(
                "%s: an earlier watch expelled %s, and this training has none: they have their say again."
                " Give Robust its watch= again, or ban them: holdfast clients ban %s --ledger %s",
                self.path,
                counted(len(expelled), "node"),
                expelled[0],
                shlex.quote(str(self.path)),
            )

    def recognise(self, connected: Iterable[Any], remembered: Iterable[Any]) -> None:
        """Warn, once in a training, if most nodes have other ids than those remembered or in the ledger."""
        if self._in_ledger is None:
            return
        known, self._in_ledger = self._in_ledger.union(remembered), None
        found = Returning.of(connected, remembered=known)
        if not found.has_new_ids:
            return
        self._former |= found.missing
        flower_log(WARNING, "%s", found)
        with self._ledger_used("written") as ledger:
            if ledger is not None:
                ledger.renew_ids(n_connected=found.n_connected, n_known=found.n_known)

    def begin_round(self) -> None:
        """Read what the operator has decided, and start the clock."""
        self._started = time.monotonic()
        self.read_decisions()

    def read_decisions(self) -> None:
        """Follow the operator's last decisions; if they cannot be read, those known so far."""
        with self._ledger_used("read") as ledger:
            if ledger is None:
                return
            decided = {**self._by_policy, **ledger.decided()}
            banned = {
                client: "banned by the operator" + (f": {why}" if why else "")
                for client, (action, why) in decided.items()
                if action == "ban"
            }
            self.banned = {**self.excluded, **banned}
            self.pardoned = frozenset(client for client, (action, _) in decided.items() if action == "pardon")

    def judge(self, verdicts: Verdicts | None, number: int) -> None:
        """Do what the policy says about those whom the watch names; this may take its time.

        That is in the round in which a node is named, and later if it has its say and nobody has decided: the
        training was stopped before, say.
        """
        if verdicts is None or self.policy is None:
            return
        known = {*self.banned, *self.pardoned, *self._former}
        named = [one for one in verdicts if one.since is not None and one.client not in known]
        fresh = [one for one in named if one.since == verdicts.round or one.standing == "suspected"]
        if not fresh:
            return
        if self.policy.on_verdict == "stop":
            self.stop(f"the watch names {_listed(fresh)} in round {number}")
        elif self.policy.on_verdict == "ask":
            self._ask(fresh, number)

    def stop(self, why: str) -> None:
        """End the training after this round."""
        self.stopping = why
        flower_log(WARNING, "the training stops, its model stays as it was before this round: %s", why)
        with self._ledger_used("written") as ledger:
            if ledger is not None:
                ledger.note(stopped=why)

    @property
    def seconds(self) -> float:
        """How long this round takes already."""
        return time.monotonic() - self._started

    @property
    def keeps(self) -> bool:
        """Whether there is a ledger."""
        return self.path is not None

    def tell(self, entry: RoundEntry) -> None:
        """Write a round into the ledger and the log, and call whoever wants to know of verdicts."""
        audit = ""
        with self._ledger_used("written") as ledger:
            if ledger is not None:
                audit = ledger.write(entry)
        self._former -= {one.client for one in entry.clients}
        flower_log(INFO, "%s", summary_line(entry, audit=audit, noun="node", former=self._former))
        for line in self._lookout.warnings(entry):
            flower_log(WARNING, "%s", line)
        for one in entry.verdicts or ():
            before = self._standings.get(one.client, "clear")
            self._standings[one.client] = one.standing
            if self.on_verdict is None or one.standing == before or one.standing == "too early to tell":
                continue
            if one.standing == "clear" and before == "too early to tell":
                continue
            try:
                self.on_verdict(one, entry.round)
            except Exception:  # whatever it does, the round goes on
                log.exception("on_verdict failed for client %s", one.client)

    def measured(self, number: int, metrics: Mapping[str, Any]) -> None:
        """Add what was measured of the model after a round to what is written of it."""
        found = {
            column: next((metrics[name] for name in names if name in metrics), None)
            for column, names in KNOWN_AS.items()
        }
        numbers = {name: value for name, value in found.items() if isinstance(value, float | int)}
        with self._ledger_used("written") as ledger:
            if ledger is not None and number > 0:
                ledger.measure(number, metrics=metrics, **numbers)

    def _ask(self, fresh: list[Verdict], number: int) -> None:
        """Hold the round until the operator has decided about these nodes, or until time is up."""
        assert self.policy is not None
        deadline = time.time() + self.policy.timeout
        with self._ledger_used("written") as ledger:
            if ledger is not None:
                ledger.ask({one.client: str(one) for one in fresh}, round=number, deadline=deadline)
        flower_log(
            WARNING,
            "round %d is held for %s: ban or pardon each within %.0f s, or the policy decides: %s. To ban:"
            " holdfast clients ban %s --ledger %s",
            number,
            _listed(fresh),
            self.policy.timeout,
            self.policy.otherwise,
            fresh[0].client,
            shlex.quote(str(self.path)),
        )
        waiting = {one.client for one in fresh}
        while waiting and time.time() < deadline:
            time.sleep(min(POLL, max(0.0, deadline - time.time())))
            self.read_decisions()
            waiting -= {*self.banned, *self.pardoned}
        for client in sorted(waiting, key=str):
            self._decide_by_itself(client, number)
        self.read_decisions()

    def _decide_by_itself(self, client: Any, number: int) -> None:
        assert self.policy is not None
        answer = self.policy.otherwise
        why = f"nobody answered in round {number} within {self.policy.timeout:.0f} s"
        if answer == "stop":
            self.stop(f"node {client}: {why}")
            return
        action: Action = "ban" if answer == "expel" else "pardon"
        self._by_policy[client] = action, why
        if action == "ban":  # also if the ledger can be neither written nor read
            self.banned = {**self.banned, client: why}
        else:
            self.pardoned |= {client}
        with self._ledger_used("written") as ledger:
            if ledger is not None:
                ledger.decide(action, client, why=why, by="policy")

    @contextmanager
    def _ledger_used(self, how: str) -> Iterator[Ledger | None]:
        """Yield the ledger, if there is one; what goes wrong with it is logged, and never ends a round."""
        ledger, own = self._ledger, None
        try:
            if ledger is None and self.path is not None:  # a round that is not made by start()
                ledger = own = open_ledger(self.path)
        except WRONG as error:
            log.error(FAILED, self.path, how, error)
        try:
            yield ledger
        except WRONG as error:
            log.error(FAILED, self.path, how, error)
        finally:
            if own is not None:
                own.close()


def _ids(exclude: Any) -> list[int]:
    if not isinstance(exclude, Collection) or not all(
        isinstance(node, int) and not isinstance(node, bool) for node in exclude
    ):
        raise InputError(
            f"exclude must hold node ids, whole numbers, such as [2651]; got {printable(repr(exclude))}"
        )
    return [int(node) for node in exclude]


def _listed(verdicts: list[Verdict]) -> str:
    return ", ".join(f"node {one.client}" for one in verdicts)
