"""Whether a rule is plain averaging, or becomes it: with few clients, on odd rounds, or when it fails."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from ...core import Rule
from .certificate import Clause, failed, noted, passed
from .rounds import Array, Crowd, N, answer, attacked, crowd, directions

__all__ = ["plain_averaging"]

#: How far the one attacker stands from the honest clients, in spreads: near enough for a mean to show both.
OUTLIER = 20.0


class _InjectedError(
    FloatingPointError, ZeroDivisionError, OverflowError, LinAlgError, LookupError, TypeError, RuntimeError
):
    """Raised in the middle of a rule, to see what it does: an error of every kind that it may catch."""


def plain_averaging(rule: Rule) -> Clause:
    """Find out whether the rule, in any of these rounds, gives the mean of all clients, attacker included."""
    rounds = dict(_rounds())
    usual = rounds.pop("")
    found = answer(rule, usual)
    if _is_mean(found, usual) or _is_scaled_mean(found, usual):
        return failed("plain averaging", "this is the mean of all clients, whoever is among them")
    for name, sent in rounds.items():
        if _becomes_mean(rule, sent):
            return failed("plain averaging", f"with {name} it is the mean of all clients")
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        if _becomes_mean(rule, usual) or _becomes_mean(rule, rounds["a row of 1e30"]):
            return failed(
                "plain averaging", "when NumPy raises an error in it, it is the mean of all clients"
            )
    for line in _lines(rule, usual):
        with _failing_at(line):
            if _becomes_mean(rule, usual):
                where = f"line {line[1]} of {Path(line[0]).name}"
                return failed("plain averaging", f"when {where} fails, it is the mean of all clients")
    moves = found != 0
    same = np.abs(np.abs(found) - np.abs(usual.center))[moves] <= 1e-3 * np.abs(usual.center)[moves]
    if same.size and same.mean() > 0.9:
        return noted(
            "plain averaging", "where it moves, it moves by the mean of all clients, attackers included"
        )
    return passed("plain averaging", "no round that was tried, and no error inside it, makes it the mean")


def _rounds() -> Iterator[tuple[str, Crowd]]:
    """Yield rounds with one attacker, the usual one first, by what is odd about them."""
    honest = crowd()
    push = directions(honest)["aside"]
    counts = np.linspace(60, 140, N).tolist()
    yield "", replace(attacked(honest, push, OUTLIER), counts=counts)
    for n in (3, 4, 5):
        few = crowd(n)
        yield f"{n} clients", attacked(few, directions(few)["aside"], OUTLIER)
    one = attacked(honest, push, OUTLIER)
    for name, value in (("equal honest rows", honest.rows[0]), ("honest rows of zeros", 0)):
        rows = np.where((one.rows != honest.rows).any(axis=1)[:, None], one.rows, value)
        yield name, replace(one, rows=rows.astype(np.float32))
    rows = honest.rows.copy()
    rows[N // 2] = 1e30
    yield "a row of 1e30", replace(honest, rows=rows)
    thin = crowd(dim=1)
    yield "updates of one number", attacked(thin, np.ones(1), OUTLIER)


def _means(sent: Crowd) -> Iterator[Array]:
    rows = sent.rows.astype(np.float64)
    yield rows.mean(axis=0)
    if sent.counts is not None:
        yield np.average(rows, axis=0, weights=sent.counts)


def _is_mean(found: Array, sent: Crowd) -> bool:
    """Return whether a result is the mean, up to a hundredth of how far the attacker moves that."""
    pull = np.linalg.norm(sent.center - np.median(sent.rows, axis=0))
    return any(bool(np.linalg.norm(found - mean) <= 0.01 * pull) for mean in _means(sent))


def _is_scaled_mean(found: Array, sent: Crowd) -> bool:
    """Return whether a result points exactly where the mean points, however long it is."""
    length = np.linalg.norm(found)
    return any(bool(found @ mean >= (1 - 1e-5) * length * np.linalg.norm(mean) > 0) for mean in _means(sent))


def _becomes_mean(rule: Rule, sent: Crowd) -> bool:
    try:
        return _is_mean(answer(rule, sent), sent)
    except Exception:  # to fail loudly is the opposite of averaging
        return False


def _lines(rule: Rule, sent: Crowd) -> list[tuple[str, int]]:
    """Return the lines of the rule's own file that run in a round; none if nothing in them catches errors."""
    code = getattr(rule.function, "__code__", None)
    if code is None:
        return []
    lines: dict[tuple[str, int], None] = {}
    codes: set[CodeType] = set()

    def see(frame: FrameType) -> None:
        codes.add(frame.f_code)
        lines[frame.f_code.co_filename, frame.f_lineno] = None

    with _traced(code.co_filename, see):
        _becomes_mean(rule, sent)
    return list(lines) if any(one.co_exceptiontable for one in codes) else []


@contextmanager
def _failing_at(line: tuple[str, int]) -> Iterator[None]:
    """Make this line of a file raise."""

    def fail(frame: FrameType) -> None:
        if frame.f_lineno == line[1]:
            raise _InjectedError("an error that was put here to see what the rule makes of it")

    with _traced(line[0], fail):
        yield


@contextmanager
def _traced(filename: str, see: Callable[[FrameType], None]) -> Iterator[None]:
    """Show a function every line of a file that is about to run."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != filename:
            return None
        if event == "line":
            see(frame)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
