"""Runs in Weights & Biases."""

import shlex
from collections.abc import Mapping
from typing import Any

from ..results import Result
from .tracker import FACTS, run_title

__all__ = ["WandB"]


class WandB:
    """A run in a project of Weights & Biases; WANDB_MODE=offline keeps it on this machine.

    >>> WandB().project
    'holdfast'
    """

    title = "Weights & Biases"

    def __init__(self, target: str | None = None) -> None:
        """Take the project's name."""
        self.project = target or "holdfast"
        self.where: str | None = None
        self.notes: list[tuple[int, str]] = []

    def begin(self, result: Result) -> None:
        """Create the run, or resume it: it is known by its key."""
        import wandb

        config = {name: getattr(result, name) for name in FACTS} | {"run": result.described}
        own = {"project": self.project, "id": result.key, "name": run_title(result), "config": config}
        self.run: Any = wandb.init(**own, resume="allow", reinit="create_new")
        self.where = self.run.url or f"wandb sync {shlex.quote(str(self.run.settings.sync_dir))}"

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Send the round's numbers."""
        self.run.log(dict(numbers), step=number)

    def note(self, number: int, text: str) -> None:
        """Add the text to the run's table of verdicts."""
        import wandb

        self.notes.append((number, text))
        table = wandb.Table(columns=["round", "verdicts"], data=self.notes)
        self.run.log({"verdicts": table}, step=number)

    def end(self, *, finished: bool) -> None:
        """Send how it ended."""
        self.run.finish(exit_code=0 if finished else 1)
