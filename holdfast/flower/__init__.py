"""Flower: `Robust` makes any rule a strategy; hostile replies are dropped by name, and never stop a round."""

try:
    import flwr
except ImportError as error:
    from .._support.extras import install

    raise ImportError(f"holdfast.flower needs Flower; {install('flower')}") from error

from .decoding import Code
from .strategy import Robust

__all__ = ["Code", "Robust"]

del flwr
