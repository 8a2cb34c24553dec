"""Records as a pandas DataFrame, where pandas is installed."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..errors import InputError

__all__ = ["data_frame"]


def data_frame(records: Sequence[dict[str, Any]]) -> Any:
    """Return records as a pandas DataFrame, one row each."""
    if find_spec("pandas") is None:
        raise InputError("pandas is not installed: pip install pandas, or take .records as they are")
    return import_module("pandas").DataFrame(records)
