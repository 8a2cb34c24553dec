"""What a model carries beside its parameters: BatchNorm's running statistics, counters.

No rule of the round applies to them: a sign mask would freeze them, and a plain mean would be an undefended
channel. They are averaged under plain averaging only; else their median is taken.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..errors import InputError
from ..updates.forms import is_named
from ..updates.layout import FLOATS, Layer, Layout, Unfit, widened
from ..updates.rows import Rows
from .settings import shares

__all__ = ["accept_buffers", "combined_buffers", "difference"]

Array = NDArray[Any]

#: Buffers that cannot be negative.
NOT_NEGATIVE = ("*running_var", "*moving_variance", "batch_stats.*.var", "*num_batches_tracked")


def combined_buffers(
    sent: Sequence[Mapping[str, Any]],
    *,
    base: Mapping[str, Any],
    weights: ArrayLike | None = None,
    averaged: bool = False,
) -> dict[str, Any]:
    """Return the next value of every buffer, in the form and type it has in `base`, the global model.

    Floats are the weighted mean of what the clients sent if `averaged`, as under plain averaging, else their
    median; integers are the lower median in any case. What was sent must have passed `accept_buffers`.

    >>> base = {"bn.running_mean": np.zeros(2, np.float32), "bn.num_batches_tracked": np.array(0)}
    >>> sent = [{"bn.running_mean": np.array([x, 1.0], np.float32), "bn.num_batches_tracked": np.array(n)}
    ...         for x, n in [(1.0, 4), (2.0, 5), (99.0, 10**9), (1.5, 4)]]
    >>> combined_buffers(sent, base=base)
    {'bn.running_mean': array([1.75, 1.  ], dtype=float32), 'bn.num_batches_tracked': array(4)}
    """
    if not sent:
        return {name: _copied(values) for name, values in base.items()}
    forms = {name: _form_of(name, values) for name, values in base.items()}
    found = _float_values(forms, sent, shares(weights, len(sent)) if averaged else None)
    for name, form in forms.items():
        if form.type_name not in FLOATS:
            column = np.sort(np.stack([np.asarray(given[name]) for given in sent]), axis=0)
            found[name] = form.wrapped(np.array(column[(len(sent) - 1) // 2], dtype=_numpy_type(form)))
    return {name: found[name] if name in found else _copied(base[name]) for name in base}


def accept_buffers(
    given: Mapping[str, Any], base: Mapping[str, Any], *, are_differences: bool = False
) -> Any:
    """Return a client's buffers, by the names of the base; raise Unfit if this model cannot have them.

    Refused are shapes and kinds unlike the base's, numbers that its type cannot hold, and negative variances
    and counters. With `are_differences` the base is added first.

    >>> accept_buffers({"bn.running_var": np.array([-1.0])}, {"bn.running_var": np.array([1.0])})
    Traceback (most recent call last):
    holdfast.updates.layout.Unfit: 'bn.running_var' holds negative values
    """
    found = {}
    for name, own in base.items():
        form = _form_of(name, own)
        try:
            values = _floats(given[name]) if form.type_name in FLOATS else _integers(given[name], form)
        except Unfit as reason:
            raise Unfit(f"{name!r}: {reason}") from None
        except Exception as error:  # a stranger's object may fail in any way when it is read
            raise Unfit(f"{name!r} cannot be read as an array: {type(error).__name__}") from None
        if values.shape != form.shape:
            raise Unfit(f"wrong shape of {name!r}: {values.shape}, not {form.shape}")
        if are_differences:
            values = values ^ _own_values(own) if form.type_name == "bool" else values + _own_values(own)
        _check_range(name, values, form)
        # In the base's own type: of signed and unsigned ones together NumPy makes floats, and rounds.
        found[name] = values if form.type_name in FLOATS else values.astype(_numpy_type(form), copy=False)
    return found


def difference(new: Any, old: Any) -> Any:
    """Return by how much a buffer moved, in its own form and type."""
    form, before = Layer.read(old, floats_only=False)
    _, after = Layer.read(new, floats_only=False)
    if form.type_name in FLOATS:
        wide = np.dtype(np.float64)
        return form.restored(widened(after, wide) - widened(before, wide))
    return form.wrapped(after ^ before if before.dtype.kind == "b" else after - before)


def _form_of(name: str, own: Any) -> Layer:
    """Return the form of a buffer of the server's."""
    form, values = Layer.read(own, floats_only=False)
    if form.type_name not in FLOATS and values.dtype.kind not in "iub":
        raise InputError(f"buffer {name!r} must hold numbers; it is {form.type_name}")
    return form


def _own_values(own: Any) -> Array:
    form, values = Layer.read(own, floats_only=False)
    return widened(values, np.dtype(np.float64)) if form.type_name in FLOATS else values


def _floats(given: Any) -> Array:
    return widened(Layer.read(given)[1], np.dtype(np.float64))


def _integers(given: Any, form: Layer) -> Array:
    values = np.asarray(given)
    if values.dtype.kind not in ("b" if form.type_name == "bool" else "iu"):
        raise Unfit(f"wrong type: {values.dtype}, not {form.type_name}")
    return values


def _check_range(name: str, values: Array, form: Layer) -> None:
    if form.type_name in FLOATS:
        if not (np.abs(values) <= FLOATS[form.type_name]).all():
            raise Unfit(f"{name!r} holds NaN, infinite or overflowing values")
    elif form.type_name != "bool" and values.size:
        limits = np.iinfo(_numpy_type(form))
        if int(values.min()) < limits.min or int(values.max()) > limits.max:
            raise Unfit(f"{name!r} holds numbers that {form.type_name} cannot")
    if is_named(name, NOT_NEGATIVE) and (values < 0).any():
        raise Unfit(f"{name!r} holds negative values")


def _numpy_type(form: Layer) -> np.dtype[Any]:
    return np.dtype(form.type_name)


def _float_values(
    forms: Mapping[str, Layer], sent: Sequence[Mapping[str, Any]], weights: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return the weighted mean of each float buffer, or without weights its median."""
    layers = {name: form for name, form in forms.items() if form.type_name in FLOATS and form.size}
    if not layers:
        return {}
    layout = Layout(tuple(layers.values()), is_single=False)
    rows = Rows(layout, tuple(layout.accept([given[name] for name in layers]) for given in sent))
    if weights is None:
        seen = kernels.trimmed_mean(rows, n_trimmed=(len(rows) - 1) // 2)
    else:
        seen = kernels.combine(rows, weights)
    # Weights add up to one only nearly: a mean of the largest numbers must not become infinite.
    limits = rows.limits(0, rows.dim)
    values = layout.restored(np.clip(seen.update, -limits, limits))
    return dict(zip(layers, values, strict=True))


def _copied(values: Any) -> Any:
    return values.clone() if hasattr(values, "clone") else np.array(values)
