"""Sign-SGD with majority vote: every coordinate moves by one step, the way most clients point."""

from .. import kernels
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .outcome import outcome
from .settings import check_positive

__all__ = ["sign_sgd"]

PROMISE = "every coordinate on whose sign all honest clients agree moves that way"


@rule
def sign_sgd(updates: Updates, *, step: float = 1e-3) -> Aggregate:
    """Return step times the sign that most clients have in each coordinate, 0 for a tie.

    Bernstein et al., 2019, https://arxiv.org/abs/1810.05291. Its guarantee, up to half of the clients
    malicious, assumes noise that is symmetric about the true gradient, which skewed data do not give.

    >>> import numpy as np
    >>> sign_sgd(np.array([[1.0, -5.0], [0.1, 2.0], [-9.0, 3.0]]), step=0.01).update
    array([0.01, 0.01])
    """
    check_positive("step", step)
    rows = rows_of(updates)
    n_tolerated = (len(rows) - 1) // 2
    seen = kernels.vote(rows, step=float(step))
    return outcome("sign_sgd", rows, seen, covered=n_tolerated > 0, tolerates=n_tolerated, promise=PROMISE)
