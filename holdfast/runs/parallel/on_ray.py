"""Workers on a Ray cluster, whose machines need not share a disk: files travel with the news.

A worker gets what the folder holds of a run, goes on from there in a folder of its own, and sends back every
file that changes. Ray comes with the extra `ray`.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..._support.atomic import write_whole
from ...errors import HoldfastError, InputError
from ...lab.scenario import Run
from ..results import checkpoint_path, result_path, run_and_record
from .step import Step, named

__all__ = ["RayWorker", "connected"]

Files = tuple[bytes | None, bytes | None]  # the result and the checkpoint, as they are stored


@contextmanager
def connected(address: str) -> Iterator[int]:
    """Connect to a Ray cluster, and leave it at the end; yield how many cores it has.

    >>> with connected("mosix://host"):
    ...     pass
    Traceback (most recent call last):
    holdfast.errors.InputError: a Ray cluster is "ray" or an address as ray://host:10001; got 'mosix://host'
    """
    if address != "ray" and not address.startswith("ray://"):
        raise InputError(f'a Ray cluster is "ray" or an address as ray://host:10001; got {address!r}')
    try:
        import ray
    except ImportError:
        raise InputError("workers on Ray need it: pip install 'holdfast[ray]'") from None
    own = not ray.is_initialized()
    if own:
        try:
            where = {"include_dashboard": False} if address == "ray" else {"address": address}
            ray.init(log_to_driver=False, **where)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InputError(f"no Ray cluster at {address!r}: {error}") from None
    try:
        cluster: Any = ray
        yield max(1, int(cluster.cluster_resources().get("CPU", 1)))
    finally:
        if own:
            ray.shutdown()


class RayWorker:
    """An actor of the cluster, with one core."""

    def __init__(self, folder: Path, device: str) -> None:
        """Start the actor."""
        import ray

        self.folder, self.device = folder, device
        self.actor: Any = ray.remote(num_cpus=1)(_Maker).remote()
        self.run: Run | None = None
        self.coming: Any = None

    def begin(self, run: Run) -> None:
        """Hand over a run, with what is stored of it."""
        self.run = run
        paths = result_path(run, self.folder), checkpoint_path(run, self.folder)
        stored = tuple(path.read_bytes() if path.is_file() else None for path in paths)
        self.actor.begin.remote(run, stored, self.device)
        self.coming = self.actor.news.remote()

    def ready(self, busy: Sequence["RayWorker"]) -> list["RayWorker"]:
        """Wait for news of any."""
        import ray

        heard, _ = ray.wait([worker.coming for worker in busy])
        return [worker for worker in busy if worker.coming in heard]

    def news(self) -> Step:
        """Return what the actor says, with its files in the folder; it goes on meanwhile."""
        import ray

        assert self.run is not None
        try:
            step, (result, checkpoint) = ray.get(self.coming)
        except ray.exceptions.RayError as error:
            raise HoldfastError(
                f"the worker on Ray died while it made {named(self.run)}; what was finished is stored, so do"
                f" it again. It said: {error}"
            ) from None
        made: Step = Step(*step)
        if not made.finished and made.error is None:
            self.coming = self.actor.news.remote()
        if result is not None:  # in the order of `results`: a checkpoint never reaches further
            write_whole(result_path(self.run, self.folder), result)
        if checkpoint is not None:
            write_whole(checkpoint_path(self.run, self.folder), checkpoint)
        return made

    def end(self) -> None:
        """Kill the actor."""
        import ray

        ray.kill(self.actor)


class _Maker:
    """What runs on the cluster: makes a run round by round, as it is asked."""

    def __init__(self) -> None:
        os.environ["HOLDFAST_THREADS"] = "1"
        self.steps: Iterator[tuple[Step, Files]] = iter(())

    def begin(self, run: Run, stored: Files, device: str) -> None:
        self.steps = _steps(run, stored, device)

    def news(self) -> tuple[Step, Files]:
        return next(self.steps)


def _steps(run: Run, stored: Files, device: str) -> Iterator[tuple[Step, Files]]:
    """Yield the news of a run, and its files where they have changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = result_path(run, folder), checkpoint_path(run, folder)
        for path, content in zip(paths, stored, strict=True):
            if content is not None:
                write_whole(path, content)
        sent, n_done = stored, 0
        try:
            for result in run_and_record(run, folder, device=device):
                n_done = len(result.records)
                found = tuple(path.read_bytes() if path.is_file() else None for path in paths)
                changed = tuple(None if new == old else new for new, old in zip(found, sent, strict=True))
                sent = (found[0], found[1])
                yield Step(run.key, n_done, result.finished), (changed[0], changed[1])
        except HoldfastError as error:
            yield Step(run.key, n_done, False, f"{named(run)}: {error}"), (None, None)
