"""What a model carries beside its parameters: BatchNorm's running statistics, counters.

No rule of the round applies to them: a sign mask would freeze them, and a plain mean would be an undefended
channel. They are averaged under plain averaging only; else their median is taken.
"""

import fnmatch
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import kernels
from .aggregators.settings import shares
from .diagnostics import Dropped
from .errors import InputError
from .updates.layout import FLOATS, Layer, Layout, Unfit, widened
from .updates.rows import Rows

__all__ = ["BUFFERS", "buffer_problem", "combined_buffers", "is_named"]

Array = NDArray[Any]

#: What BatchNorm's buffers are called, in torch and in Keras.
BUFFERS = ("*running_mean", "*running_var", "*num_batches_tracked", "*moving_mean", "*moving_variance")
#: Those of them that cannot be negative.
VARIANCES = ("*running_var", "*moving_variance")
COUNTERS = ("*num_batches_tracked",)

log = logging.getLogger("holdfast")


def is_named(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a name fits any of the patterns, in which * stands for anything.

    >>> is_named("layer1.0.bn1.running_var", BUFFERS), is_named("conv1.weight", BUFFERS)
    (True, False)
    """
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def combined_buffers(
    sent: Sequence[Mapping[str, Any]],
    *,
    base: Mapping[str, Any],
    weights: ArrayLike | None = None,
    averaged: bool = False,
    clients: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Return the next value of every buffer, in the form and type it has in `base`, the global model.

    Floats are the weighted mean of what the clients sent if `averaged`, as under plain averaging, else their
    median; integers are the lower median in any case. A client with a value that cannot be (see
    `buffer_problem`) is left out, and named in the log. With nobody left, the base's values stay.

    >>> base = {"bn.running_mean": np.zeros(2, np.float32), "bn.num_batches_tracked": np.array(0)}
    >>> sent = [{"bn.running_mean": np.array([x, 1.0], np.float32), "bn.num_batches_tracked": np.array(n)}
    ...         for x, n in [(1.0, 4), (2.0, 5), (np.nan, 6), (99.0, 10**9), (1.5, 4)]]
    >>> combined_buffers(sent, base=base)
    {'bn.running_mean': array([1.75, 1.  ], dtype=float32), 'bn.num_batches_tracked': array(4)}
    """
    forms = {name: _form_of(name, values) for name, values in base.items()}
    good = []
    for row, given in enumerate(sent):
        problem = buffer_problem(given, base)
        if problem is None:
            good.append(row)
        else:
            log.warning("buffers without %s", Dropped(row if clients is None else clients[row], problem))
    if not good:
        if base and sent:
            log.error("no client sent usable buffers: they stay as they are")
        return {name: _copied(values) for name, values in base.items()}
    counts = None if weights is None else shares(weights, len(sent))[good]
    chosen = [sent[row] for row in good]
    found = _float_values(forms, chosen, shares(counts, len(good)) if averaged else None)
    for name, form in forms.items():
        if isinstance(form, np.dtype):
            column = np.sort(np.stack([np.asarray(given[name]).astype(form) for given in chosen]), axis=0)
            found[name] = np.asarray(column[(len(good) - 1) // 2])
    return {name: found[name] if name in found else _copied(base[name]) for name in base}


def buffer_problem(given: Any, base: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a client's buffers; None if nothing is.

    Wrong are names, shapes and kinds unlike the base's, numbers that its type cannot hold, and negative
    variances and counters.

    >>> buffer_problem({"bn.running_var": np.array([-1.0])}, {"bn.running_var": np.array([1.0])})
    'bn.running_var holds negative values'
    """
    if not isinstance(given, Mapping) or set(given) != set(base):
        return f"names unlike the {len(base)} of the model's buffers"
    for name, own in base.items():
        try:
            form = _form_of(name, own)
            values = _floats(given[name], form) if isinstance(form, Layer) else _integers(given[name], form)
        except Unfit as reason:
            return f"{name}: {reason}"
        shape = form.shape if isinstance(form, Layer) else np.shape(own)
        if values.shape != shape:
            return f"{name}: wrong shape: {values.shape}, not {shape}"
        if is_named(name, VARIANCES + COUNTERS) and (values < 0).any():
            return f"{name} holds negative values"
    return None


def _form_of(name: str, own: Any) -> Any:
    """Return the Layer of a float buffer of the server's, the type of any other."""
    try:
        return Layer.read(own)[0]
    except Unfit:
        values = np.asarray(own)
        if values.dtype.kind in "iub":
            return values.dtype
        raise InputError(f"buffer {name!r} must hold numbers; it is {values.dtype}") from None


def _floats(given: Any, form: Layer) -> Array:
    try:
        values = widened(Layer.read(given)[1], np.dtype(np.float64))
    except Unfit:
        raise
    except Exception as error:  # a stranger's object may fail in any way when it is read
        raise Unfit(f"cannot be read as an array: {type(error).__name__}") from None
    if not (np.abs(values) <= FLOATS[form.type_name]).all():
        raise Unfit("holds NaN, infinite or overflowing values")
    return values


def _integers(given: Any, dtype: np.dtype[Any]) -> Array:
    try:
        values = np.asarray(given)
    except Exception as error:
        raise Unfit(f"cannot be read as an array: {type(error).__name__}") from None
    if values.dtype.kind not in ("b" if dtype.kind == "b" else "iu"):
        raise Unfit(f"wrong type: {values.dtype}, not {dtype}")
    if dtype.kind != "b" and values.size:
        limits = np.iinfo(dtype)
        if int(values.min()) < limits.min or int(values.max()) > limits.max:
            raise Unfit(f"holds numbers that {dtype} cannot")
    return values


def _float_values(
    forms: Mapping[str, Any], sent: Sequence[Mapping[str, Any]], weights: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return the weighted mean of each float buffer, or without weights its median."""
    layers = {name: form for name, form in forms.items() if isinstance(form, Layer) and form.size}
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
