"""The server's round, written once: screen what strangers sent, watch who votes with whom, run a rule, apply
what it decides.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._support.printable import printable
from ..aggregators import fedavg
from ..aggregators.outcome import in_form
from ..aggregators.settings import share_withstood
from ..core import Aggregate, Attendance, Memory, Rule, Watch, bind
from ..errors import InputError, NonFiniteError, TooFewClientsError
from ..updates.counts import balanced_counts
from ..updates.forms import BUFFERS
from ..updates.layout import NotFiniteError, Unfit, widened
from ..watching import Watched
from .heeding import hearing, heeded, read_by
from .measuring import measured
from .outcomes import Apply, Defended, applied, log_attention, rewound, unchanged
from .screening import Screened, capped, compared, fitting

__all__ = ["Defended", "defend", "defend_screened"]


def defend(
    models: Any,
    rule: Rule | Callable[..., Aggregate],
    *,
    base: Any = None,
    like: Any = None,
    weights: Any = None,
    clients: Sequence[Any] | None = None,
    state: Memory | None = None,
    reference: Any = None,
    rng: np.random.Generator | None = None,
    watch: Watch | None = None,
    pardoned: Collection[Any] = (),
    min_clients: int = 1,
    buffers: Sequence[str] = BUFFERS,
    explain: bool = False,
) -> Defended:
    """Return the next model that a rule makes of what the clients sent; hostile clients never stop a round.

    `models` holds one entry per client, in order or by client id: state dicts, lists of layers, arrays,
    pytrees. With `base`, the global model, they are models; with `like`, they are updates of it. One
    (n_clients, dim) array of updates needs neither. `weights` are sample counts, and capped;
    see `holdfast.updates.counts`.
    Arrays named by `buffers`, and those that are no floats, follow a rule of their own: the mean under plain
    averaging, else the median. `reference` is the server's own update, for rules that ask for it. Rule and
    watch draw from `rng`, so that a round can be repeated; without one, both draw afresh. A `watch`, such as
    `factions()`, remembers clients by their ids, expels those who vote together against all others, and says
    so in `verdicts`; those whom an operator has `pardoned` keep their say whatever it finds. With fewer than
    `min_clients` usable clients, nothing is aggregated. `explain` measures every client on the way. Clients
    that sent the same model, bit for bit, are named in the log and in `diagnostics`; they keep their say.

    >>> from holdfast import invariant
    >>> base = {"w": np.zeros(2)}
    >>> rows = {"ann": [1, 1], "bob": [1.2, -1], "cat": [0.8, 1.1], "dan": [1, -0.9], "eve": [np.nan, 9]}
    >>> models = {name: {"w": np.array(row, float)} for name, row in rows.items()}
    >>> result = defend(models, invariant(tau=0.6), base=base)
    >>> result.model
    {'w': array([1., 0.])}
    >>> print(result.diagnostics.dropped[0])
    client eve: holds NaN, infinite or overflowing values
    """
    found = fitting(models, base=base, like=like, weights=weights, clients=clients, buffers=buffers)
    found = replace(found, rows=replace(found.rows, explain=explain or found.rows.explain))
    if reference is not None and found.form is not None:
        reference = _reference(found, reference)
    if watch is not None and clients is None and not isinstance(models, Mapping):
        raise InputError("a watch knows clients by their ids: pass clients=, or models by client id")
    inputs = {"reference": reference, "rng": rng}
    try:
        result = defend_screened(
            found, rule, state=state, watch=watch, pardoned=pardoned, min_clients=min_clients, **inputs
        )
    except TooFewClientsError as error:  # how many come is the clients' doing
        result = unchanged(bind(rule), compared(found), state or Memory(), str(error))
    log_attention(result.diagnostics)
    return result


def defend_screened(
    found: Screened,
    rule: Rule | Callable[..., Aggregate],
    *,
    state: Memory | None = None,
    reference: Any = None,
    rng: np.random.Generator | None = None,
    params: Any = None,
    watch: Watch | None = None,
    pardoned: Collection[Any] = (),
    min_clients: int = 1,
    apply: Apply | None = None,
) -> Defended:
    """Return the same of rows whose form is checked already, for callers that read rows in their own way.

    Unlike `defend`, it raises TooFewClientsError if the rule is not defined for the clients that were called,
    and does not log who sent the same.
    `apply` makes the next model of update and buffers where it does not lie in memory. It gets None and
    no buffers if the model stays as it is, and raises NotFiniteError if the next one would not be finite.

    >>> from holdfast import median, screen
    >>> defend_screened(screen(np.array([[1.0], [3.0], [2.0]])), median).update
    array([2.])
    """
    bound = bind(rule)
    bound.check_complete()
    _check_callers(state, rng, pardoned, min_clients)
    memory, found = state or Memory(), compared(found)
    inputs = {
        "previous": memory.previous,
        "reference": reference,
        "rng": np.random.default_rng() if rng is None and bound.needs("rng") else rng,
        "params": _flat_params(found) if params is None and bound.needs("params") else params,
    }
    found, watched = (found, None) if watch is None else read_by(watch, found, memory, pardoned, rng)
    if watched is None:
        return _ruled(bound, found, memory, inputs, min_clients, apply)
    found, watched, memory = heeded(found, watched, memory, pardoned, rewinds_here=apply is None)
    if watched.holds:
        result = hearing(bound, found, memory, inputs, watched.n_left, apply)
    elif watched.rewinds and memory.start is not None and apply is None:
        result = rewound(bound, found, memory)
    else:
        left = found.expelling(watched.silenced)
        try:
            result = _ruled(bound, left, memory, inputs, min_clients, apply, watched)
        except TooFewClientsError as error:  # what was heard is remembered all the same
            result = unchanged(bound, left, memory, str(error), apply)
    return replace(result, verdicts=watched.verdicts)


def _ruled(
    bound: Rule,
    found: Screened,
    memory: Memory,
    inputs: Mapping[str, Any],
    min_clients: int,
    apply: Apply | None,
    watched: Watched | None = None,
) -> Defended:
    """Apply the rule to the rows; it runs again without those that turn out not to be finite."""
    rng = inputs["rng"]
    drawn = rng and rng.bit_generator.state
    while len(found.clients) >= max(1, min_clients):
        ready = capped(found)  # anew each time: what those say who are dropped decides about nobody
        if bound.needs("weights") and bound.function is not fedavg.function:
            ready = capped(ready, partial(balanced_counts, withstood=share_withstood(bound)))
        given = {"weights": ready.weights, "clients": found.clients, "state": memory.rule}
        try:
            adapted = bound.adapted(_attendance(found, watched))
            result = in_form(bound.name, found.rows.layout, adapted.run(found.rows, **given, **inputs))
            said = measured(bound.name, found.rows, result)
            if adapted != bound:
                said = replace(said, notes=(*said.notes, _why_adapted(bound, adapted, found)))
        except NonFiniteError as error:  # found on the way: the rule runs once more without them
            found = found.without(dict.fromkeys(error.rows, f"holds {error.problem}"))
            if rng:  # draws what it would have drawn without them
                rng.bit_generator.state = drawn
            continue
        except TooFewClientsError as error:
            if not found.dropped and not found.expelled:
                raise
            return unchanged(bound, found, memory, str(error), apply)
        try:
            return applied(bound, ready, replace(result, diagnostics=said), memory, apply)
        except NotFiniteError:
            return unchanged(bound, found, memory, "the next model would not be finite", apply)
    few = f"{len(found.clients)} clients are usable, {min_clients} are needed"
    why = (few if found.clients else "no usable update is left") + _kept_out(found)
    return unchanged(bound, found, memory, why, apply)


def _kept_out(found: Screened) -> str:
    """Return how many clients the watch keeps out of a round and the usual reasons, to follow another."""
    reasons = Counter(drop.reason for drop in found.expelled).most_common(3)
    told = " and ".join(f"{count} ({reason})" for reason, count in reasons)
    return f": the watch keeps out {told}" if reasons else ""


def _attendance(found: Screened, watched: Watched | None) -> Attendance:
    """Count who is left, and how many attackers among them the watch leaves possible."""
    if watched is None:
        return Attendance(len(found.clients))
    return Attendance(len(found.clients), watched.n_expelled, watched.n_suspected)


def _why_adapted(bound: Rule, adapted: Rule, found: Screened) -> str:
    """Name the settings that the rule ran with in this round, and why."""
    gone = f", {len(found.expelled)} left out by the watch" if found.expelled else ""
    return f"{len(found.clients)} clients are left{gone}: {bound!r} ran as {adapted!r}"


def _flat_params(found: Screened) -> Any:
    """Return the server's own parameters as one flat array, where they are at hand."""
    if not found.params:
        return None
    wide = found.rows.dtype
    return np.concatenate([widened(own.reshape(-1), wide) for own in found.params])


def _check_callers(state: Any, rng: Any, pardoned: Any, min_clients: Any) -> None:
    if isinstance(pardoned, str | bytes) or not isinstance(pardoned, Collection):
        raise InputError(f"pardoned must hold clients' ids, such as [3]; got {printable(repr(pardoned))}")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise InputError(
            f"rng must be a numpy Generator, numpy.random.default_rng(seed); got {type(rng).__name__}"
        )
    if state is not None and not isinstance(state, Memory):
        raise InputError(f"state must be the state of the last round's result; got {type(state).__name__}")
    if not isinstance(min_clients, int) or min_clients < 1:
        raise InputError(f"min_clients must be a whole number of at least 1; got {min_clients!r}")


def _reference(found: Screened, reference: Any) -> Any:
    """Return the parameters of the server's own update, in the layers that a rule sees."""
    assert found.form is not None
    try:
        params, _ = found.form.split(reference)
    except Unfit as reason:
        raise InputError(f"reference must have the form of an update: {reason}") from None
    return params[0] if found.form.layout.is_single else params
