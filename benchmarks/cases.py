"""What is measured: cases, in groups that share a process, and the folder that keeps one file for each."""

import json
import os
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from .contenders import Contender

__all__ = ["RESNET18", "SIZES", "Case", "Size", "Store", "is_disturbed", "plan"]

RESNET18 = 11_689_512  # parameters
SMALL = 40_000  # parameters: a model so small that what every call costs is seen
Size = tuple[int, int]  # (n_clients, dim)

SIZES: dict[str, list[Size]] = {
    "quick": list(product((10, 20), (100_000, 1_000_000))),
    "full": [(20, SMALL), *product((10, 20, 50, 100), (100_000, 1_000_000, RESNET18))],
}
#: Here peers need more memory or time than they are worth: holdfast alone.
ALONE: dict[str, list[Size]] = {"quick": [], "full": [(1_000, 100_000), (100, RESNET18)]}


@dataclass(frozen=True)
class Case:
    """One number to find: of this kind, for this contender, at this size; threads=0 is all cores."""

    kind: str  # time, memory or first_call
    contender: str
    n_clients: int
    dim: int
    threads: int = 0

    @property
    def key(self) -> str:
        """The name of its file."""
        threads = f"-{self.threads}-thread" if self.threads else ""
        return f"{self.kind}-{self.contender.replace(' ', '-')}-{self.n_clients}x{self.dim}{threads}"


def is_disturbed(record: dict[str, Any]) -> bool:
    """Return whether other processes kept a good part of a core busy while this was measured.

    A call of seconds notices less, and the kernel's own work on its gigabytes counts as another process.
    """
    return bool(record.get("outside_load", 0.0) > (0.3 if record.get("seconds", 0.0) > 1 else 0.15))


class Store:
    """A folder with one JSON file a case, so that what is measured need not be measured again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, case: Case) -> dict[str, Any] | None:
        """Return what is known of the case: its status, and a reason or its numbers."""
        path = self.folder / f"{case.key}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def of(self, kind: str, contender: str) -> list[dict[str, Any]]:
        """Return all that is known of a contender, in one kind."""
        pattern = f"{kind}-{contender.replace(' ', '-')}-*x*.json"
        found = [json.loads(path.read_text()) for path in self.folder.glob(pattern)]
        return [record for record in found if record["contender"] == contender]

    def put(self, case: Case, status: str, **found: Any) -> None:
        """Keep what was found: all of it or, if interrupted, nothing."""
        path = self.folder / f"{case.key}.json"
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps({**asdict(case), "status": status, **found}, indent=1))
        os.replace(draft, path)

    def clear(self) -> None:
        """Forget everything."""
        for path in self.folder.glob("*.json"):
            path.unlink()


def plan(sizes: str, contenders: list[Contender]) -> list[list[Case]]:
    """Return all cases, small ones first: they tell what the large ones would take."""
    grid, alone = SIZES[sizes], ALONE[sizes]
    everyone = [contender.name for contender in contenders]
    plain = [name for name in everyone if not name.endswith("explain")]
    ours = [name for name in plain if name.endswith("holdfast")]
    large = max(dim for _, dim in grid)

    groups = [[Case("first_call", name, 20, 100_000)] for name in ours]
    groups += [[Case("memory", name, 20, 1_000_000)] for name in plain]
    for n, dim in sorted({*grid, *alone}, key=lambda size: (size[0] * size[1], size)):
        names = ours if (n, dim) in alone else everyone if n == 20 else plain
        groups.append([Case("time", name, n, dim) for name in names])
    for n, dim in grid:
        if dim == 1_000_000 or (n, dim) == (20, large):
            groups.append([Case("time", name, n, dim, threads=1) for name in plain])
    if large > 1_000_000:
        groups += [[Case("memory", name, 20, large)] for name in everyone]
    groups += [[Case("memory", name, n, dim)] for n, dim in alone for name in ours]
    return groups
