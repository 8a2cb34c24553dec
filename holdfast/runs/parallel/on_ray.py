"""Runs on a Ray cluster, whose machines need not share a disk: files travel with the news.

An actor gets what the folder holds of a run, resumes it in a folder of its own, and sends back every file
that changes. Ray comes with the extra `ray`.
"""

import os
import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..._support.atomic import write_whole
from ..._support.cluster import connected
from ...errors import HoldfastError
from ...lab.scenario import Run
from ..store import files_of
from .step import Step, make_steps, run_name

__all__ = ["make_on_ray"]

Files = dict[str, Any]  # [name] content as bytes; None if the file is gone


def make_on_ray(
    runs: Sequence[Run], folder: Path, *, address: str, n_workers: int | None, device: str
) -> Generator[Step, None, None]:
    """Make the runs on actors of one core each, by default one per core of the cluster; yield their news."""
    with connected(address) as n_cores:
        import ray

        waiting, coming = list(runs), {}  # [reference to the next news] whose they are
        kind: Any = ray.remote(num_cpus=1)(_Maker)
        actors = [kind.remote() for _ in range(min(n_workers or n_cores, len(waiting)))]
        try:
            for actor in actors:
                run = waiting.pop(0)
                coming[actor.begin.remote(run, _files(run, folder), device)] = actor, run
            while coming:
                (reference,), _ = ray.wait(list(coming))
                actor, run = coming.pop(reference)
                step = _received(reference, run, folder)
                if not step.finished and step.error is None:
                    coming[actor.news.remote()] = actor, run
                elif waiting:
                    run = waiting.pop(0)
                    coming[actor.begin.remote(run, _files(run, folder), device)] = actor, run
                yield step
        finally:
            for actor in actors:
                ray.kill(actor)


def _received(reference: Any, run: Run, folder: Path) -> Step:
    """Return news of a run, after its files have come into the folder."""
    import ray

    try:
        step, changed = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise HoldfastError(
            f"the worker on Ray died while it made {run_name(run)}; what was finished is stored, so do it"
            f" again. It said: {error}"
        ) from None
    for name, content in changed.items():  # in the order of `_files`: a checkpoint never reaches further
        if content is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write_whole(folder / name, content)
    return Step(*step)


def _files(run: Run, folder: Path) -> Files:
    """Return the files of a run, in the order in which they may be written elsewhere."""
    files = files_of(run.key, folder)
    order = (files.making, files.checkpoint, files.model, files.result)
    return {path.name: path.read_bytes() for path in order if path.is_file()}


class _Maker:
    """What runs on the cluster: makes a run round by round, as it is asked."""

    def __init__(self) -> None:
        os.environ["HOLDFAST_THREADS"] = "1"
        self.steps: Iterator[tuple[Step, Files]] = iter(())

    def begin(self, run: Run, stored: Files, device: str) -> tuple[Step, Files]:
        self.steps = _steps(run, stored, device)
        return self.news()

    def news(self) -> tuple[Step, Files]:
        return next(self.steps)


def _steps(run: Run, stored: Files, device: str) -> Iterator[tuple[Step, Files]]:
    """Yield the news of a run, and its files where they have changed; None for those that are gone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for own, content in stored.items():
            write_whole(folder / own, content)
        sent = stored
        for step in make_steps(run, folder, device):
            found = _files(run, folder)
            gone = dict.fromkeys(name for name in sent if name not in found)
            changed = {name: content for name, content in found.items() if content != sent.get(name)}
            sent = found
            yield step, changed | gone
