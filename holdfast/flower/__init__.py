"""Flower: `Robust` makes any rule a strategy; hostile replies are dropped by name, and never stop a round."""

try:
    import flwr
except ImportError as error:
    raise ImportError("holdfast.flower needs Flower: pip install 'holdfast-fl[flower]'") from error

from .decoding import Code
from .strategy import Robust

__all__ = ["Code", "Robust"]

del flwr
