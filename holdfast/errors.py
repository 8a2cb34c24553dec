"""The exceptions of holdfast.

HoldfastError
  InputError (also ValueError)   invalid arrays or settings
    TooFewClientsError           the rule is not defined for so few clients
    NonFiniteError               rows that hold NaN, infinities or overflow; says which
  DataError                      a data set is missing, or not what it should be
"""

__all__ = [
    "DataError",
    "HoldfastError",
    "InputError",
    "NonFiniteError",
    "TooFewClientsError",
]


class HoldfastError(Exception):
    """Base class of all exceptions that holdfast raises on purpose.

    >>> issubclass(InputError, HoldfastError)
    True
    """


class InputError(HoldfastError, ValueError):
    """Invalid arrays or settings; the message says what was expected and what was given.

    >>> from holdfast import invariant
    >>> invariant(tua=0.6)
    Traceback (most recent call last):
    holdfast.errors.InputError: invariant has no setting 'tua'; did you mean 'tau'? It has: tau, alpha, strict
    """


class TooFewClientsError(InputError):
    """The rule's formula is not defined for so few clients.

    >>> import numpy as np
    >>> from holdfast import krum
    >>> krum(np.ones((3, 2)), n_malicious=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.TooFewClientsError: krum needs n >= f + 3 clients; take more per round, ... got n=3, f=1
    """


class NonFiniteError(InputError):
    """Rows that cannot be aggregated; `rows` says which, as positions.

    >>> import numpy as np
    >>> from holdfast import median
    >>> median(np.array([[1.0], [np.nan], [2.0]]))
    Traceback (most recent call last):
    holdfast.errors.NonFiniteError: row 1 holds NaN, infinite or overflowing values; drop it, or use defend()
    """

    def __init__(self, rows: tuple[int, ...], problem: str = "NaN, infinite or overflowing values") -> None:
        """Name the rows and what they hold."""
        self.rows = rows
        self.problem = problem
        named = f"row {rows[0]} holds" if len(rows) == 1 else f"rows {', '.join(map(str, rows))} hold"
        it = "it" if len(rows) == 1 else "them"
        super().__init__(f"{named} {problem}; drop {it}, or use defend()")


class DataError(HoldfastError):
    """A data set is missing, or not what it should be; the message says what to do.

    >>> from holdfast.lab.data import table
    >>> table("nowhere.csv", label="y")
    Traceback (most recent call last):
    holdfast.errors.DataError: no table at nowhere.csv
    """
