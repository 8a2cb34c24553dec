"""Arrays from .npz files, which may be damaged or other files than expected."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError

__all__ = ["load_arrays"]


def load_arrays(path: Path, *names: str) -> list[NDArray[Any]]:
    """Return the arrays of these names from a .npz; nothing in it is unpickled.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "a.npz", x=[1, 2])
    ...     load_arrays(Path(folder) / "a.npz", "x")
    [array([1, 2])]
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return [held[name] for name in names]
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, AttributeError) as error:
        raise DataError(f"{path} must hold the arrays {', '.join(names)}: {error}") from None
