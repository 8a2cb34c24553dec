"""Runs in TensorBoard's event files."""

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..results import Result
from .tracker import FACTS

__all__ = ["TensorBoard"]


class TensorBoard:
    """Event files, one folder per run; a run that is tracked again replaces what was there of it.

    >>> TensorBoard("logs").folder
    PosixPath('logs')
    """

    title = "TensorBoard"

    def __init__(self, target: str | None = None) -> None:
        """Take the folder for all runs."""
        self.folder = Path(target or "tensorboard")
        self.where: str | None = None

    def begin(self, result: Result) -> None:
        """Open the run's folder."""
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        folder = str(self.folder / result.key)
        self.writer: Any = EventFileWriter(folder)
        self.where = f"tensorboard --logdir {shlex.quote(folder)}"
        # From this step on, what earlier files of the folder hold is void.
        self._write(step=1, session_log=SessionLog(status=SessionLog.START))
        facts = "".join(f"    {name}: {getattr(result, name)}\n" for name in FACTS)
        self._text("run", 0, f"{facts}\n    {result.described}")

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Write the round's numbers at once, for whoever is watching."""
        self._summarise(number, [{"tag": name, "simple_value": value} for name, value in numbers.items()])
        self.writer.flush()

    def note(self, number: int, text: str) -> None:
        """Write the text where TensorBoard shows texts."""
        self._text("verdicts", number, "".join(f"    {line}\n" for line in text.splitlines()))

    def end(self, *, finished: bool) -> None:
        """Close the files."""
        self.writer.close()

    def _text(self, tag: str, step: int, text: str) -> None:
        """Write a text, whose lines are indented: it is no Markdown."""
        from tensorboard.plugins.text.metadata import create_summary_metadata
        from tensorboard.util.tensor_util import make_tensor_proto

        content = make_tensor_proto(np.array([text.encode()], dtype=object))
        metadata = create_summary_metadata(display_name=tag, description="")
        self._summarise(step, [{"tag": tag, "metadata": metadata, "tensor": content}])

    def _summarise(self, step: int, values: list[dict[str, Any]]) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._write(step=step, summary=Summary(value=[Summary.Value(**value) for value in values]))

    def _write(self, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self.writer.add_event(Event(wall_time=time.time(), **fields))
