"""Runs in MLflow."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..results import Result
from .tracker import FACTS, run_title

__all__ = ["MLflow"]

LONGEST_TAG = 5000  # characters, by MLflow's own limit
MOST_METRICS = 1000  # in one request, by the same


class MLflow:
    """A run in MLflow's experiment "holdfast", at a tracking URI or where MLflow is set up to log.

    >>> MLflow().uri is None
    True
    """

    title = "MLflow"

    def __init__(self, target: str | None = None) -> None:
        """Take the tracking URI."""
        self.uri = target
        self.where: str | None = None
        self.notes = ""

    def begin(self, result: Result) -> None:
        """Create the run, with all that determines it."""
        from mlflow import MlflowClient
        from mlflow.entities import Param, RunTag

        self.client: Any = MlflowClient(tracking_uri=self.uri)
        experiment = self.client.get_experiment_by_name("holdfast")
        number = experiment.experiment_id if experiment else self.client.create_experiment("holdfast")
        self.id = self.client.create_run(number, run_name=run_title(result)).info.run_id
        self.where = _place(self.client.tracking_uri, number, self.id)
        params = [Param(name, str(getattr(result, name))) for name in FACTS]
        tags = [RunTag("holdfast.run", result.described[:LONGEST_TAG])]
        self.client.log_batch(self.id, params=params, tags=tags)

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Send the round's numbers."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, number) for name, value in numbers.items()]
        for start in range(0, len(metrics), MOST_METRICS):
            self.client.log_batch(self.id, metrics=metrics[start : start + MOST_METRICS])

    def note(self, number: int, text: str) -> None:
        """Put the text into a tag, above what it held."""
        self.notes = f"{text}\n\n{self.notes}"[:LONGEST_TAG]
        self.client.set_tag(self.id, "holdfast.verdicts", self.notes)

    def end(self, *, finished: bool) -> None:
        """Send how it ended."""
        self.client.set_terminated(self.id, "FINISHED" if finished else "KILLED")


def _place(uri: str, experiment: str, run: str) -> str:
    """Return the address of a run's page, without a password that may be in it; without a server, the URI.

    >>> _place("https://me:secret@flow.example/base/", "1", "2")
    'https://flow.example/base/#/experiments/1/runs/2'
    """
    parts = urlsplit(uri)
    server = parts.netloc.rpartition("@")[2]
    if parts.scheme not in ("http", "https"):
        return f"run {run} in {parts.scheme}://{server}{parts.path}" if server else f"run {run} in {uri}"
    return f"{parts.scheme}://{server}{parts.path.rstrip('/')}/#/experiments/{experiment}/runs/{run}"
