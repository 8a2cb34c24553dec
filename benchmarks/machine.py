"""The machine and the packages that numbers were made with. No host name, no paths."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["describe", "one_line"]

PACKAGES = ("holdfast", "numpy", "numba", "torch", "flwr", "byzfl", "scipy")


def describe() -> dict[str, Any]:
    """Return what the numbers depend on beside the code."""
    processor = _read("/proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.+)$", processor, re.M)
    memory = re.search(r"^MemTotal:\s+(\d+) kB", _read("/proc/meminfo"), re.M)
    vectors = [flag for flag in ("avx2", "avx512f") if re.search(rf"\b{flag}\b", processor)]
    return {
        "processor": model[1].strip() if model else platform.machine(),
        "vector_extensions": vectors,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory[1]) / 2**20, 1) if memory else None,
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}, {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
    }


def one_line(machine: dict[str, Any]) -> str:
    """Return the description as a reader of a table wants it.

    >>> one_line({"processor": "X", "cores": 2, "memory_gib": 23.4, "vector_extensions": ["avx2"]})
    'X, 2 cores, 23 GiB, AVX2'
    """
    extensions = "".join(f", {name.upper()}" for name in machine["vector_extensions"][-1:])
    memory = f", {machine['memory_gib']:.0f} GiB" if machine["memory_gib"] else ""
    return f"{machine['processor']}, {machine['cores']} cores{memory}{extensions}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""
