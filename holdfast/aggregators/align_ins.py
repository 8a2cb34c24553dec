"""AlignIns: average those whose direction is usual, in their signs and beside the global model."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.counting import as_written
from ..core import Aggregate, rule
from ..errors import InputError
from ..kernels.largest import agreement, cutoffs
from ..updates.rows import Updates, rows_of
from .filtering import global_model, kept_note
from .geometry import clip_factors
from .outcome import weighted_sum
from .settings import check_positive

__all__ = ["align_ins"]

Array = NDArray[np.float64]

#: Agreements and cosines that are closer than this are the same but for rounding.
ROUNDING = 1e-12


@rule
def align_ins(
    updates: Updates,
    *,
    top: float = 0.3,
    lambda_s: float = 1.0,
    lambda_c: float = 1.0,
    params: Any = None,
) -> Aggregate:
    """Return the mean of those with usual signs and a usual angle, clipped to their median length.

    Xu et al., 2025, https://arxiv.org/abs/2503.07978. An update's signs are compared with the majority's at
    the share `top` of its coordinates with the largest magnitudes, and its direction with the global
    model, `params`. It is kept if its agreement is less than lambda_s standard deviations from the median of
    all, on either side, and its cosine less than lambda_c. Attackers raise the standard deviation, and so
    what passes; many honest clients are dropped in any round. Values that tie for the last places of `top`
    count in part, and clients who all agree are all kept, where the published code divides by zero.

    >>> honest = [[1.0, 1.0, 2.0, 0.1], [1.0, 2.0, 1.0, -0.1], [2.0, 1.0, 1.0, 0.2], [1.0, 1.0, 1.0, 0.1]]
    >>> result = align_ins(np.array([*honest, [9.0, -9.0, -9.0, 9.0]]), top=0.75, params=np.eye(4)[3])
    >>> result.diagnostics.selected
    array([ True,  True,  True,  True, False])
    """
    share = as_written(top, "top")
    if not 0 < share <= 1:
        raise InputError(f"top, the share of coordinates that are compared, must be in (0, 1]; got {top!r}")
    check_positive("lambda_s", lambda_s)
    check_positive("lambda_c", lambda_c)
    rows = rows_of(updates)
    own, notes = global_model(rows, params)
    squares, dots = kernels.projections(rows, own)
    norms, lengths = np.sqrt(squares[:-1]), np.sqrt(squares[:-1]) * np.sqrt(squares[-1])
    angles = np.divide(dots[:-1], lengths, out=np.zeros_like(norms), where=lengths > 0)
    n_top = max(1, math.floor(share * rows.dim + 1e-9))
    signs = agreement(rows, cutoffs(rows, n_top)) / n_top

    is_kept = is_usual(signs, lambda_s) & is_usual(angles, lambda_c)
    factors = clip_factors(norms, float(np.median(norms[is_kept]))) if is_kept.any() else norms
    client_weights = is_kept * factors / max(1, is_kept.sum())
    notes = (kept_note(is_kept), *notes)
    return weighted_sum("align_ins", rows, client_weights, selected=is_kept, notes=notes)


def is_usual(scores: Array, radius: float) -> NDArray[np.bool_]:
    """Return which scores are less than so many standard deviations from the median.

    >>> is_usual(np.array([1.0, 2.0, 3.0, 9.0]), 1.0)
    array([ True,  True,  True, False])
    """
    far = np.abs(scores - np.median(scores))
    return np.asarray((far < radius * scores.std()) | (far <= ROUNDING))
