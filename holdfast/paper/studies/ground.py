"""Where a study stands: a model trained without an attack, and what honest and malicious clients do to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...lab.lazy_torch import Tensor, functional, torch
from ...lab.models import load_params
from ...lab.scenario import Defence, Run
from ...lab.simulation import simulate
from ...lab.simulation.clients import workers
from ...lab.simulation.world import Examples, World, build_world
from ...lab.training import Shard, Trained, schedule
from ...runs.checkpoints import load_checkpoint
from ...runs.results import checkpoint_path, run_and_record

__all__ = ["Array", "Ground", "clean_run", "trained_ground"]

Array = NDArray[Any]

#: Examples that go through the network at once. Fixed, so that the sums are the same on every machine.
PART = 1024


def clean_run(run: Run, *, exposure: float = 0.0) -> Run:
    """Return the run with plain averaging, and attackers that never attack but hold their poisoned examples.

    `exposure` of an edge-case pool is given, rightly labelled, to honest clients.

    >>> from holdfast.lab.choices import build_run
    >>> clean_run(build_run("digits", attack="edge-case", defence="median")).defence.name
    'fedavg'
    """
    if run.attack.backdoor is None or run.attack.n_malicious == 0:
        raise InputError(
            f"a study needs an attack with a backdoor, such as 'edge-case'; got {run.attack.name!r}"
            f" with {run.attack.n_malicious} malicious clients"
        )
    attack = replace(run.attack, exposure=exposure, rounds=range(0))
    return replace(run, attack=attack, defence=Defence())


@dataclass(frozen=True, eq=False)
class Ground:
    """A trained model in its world, and what can be asked of it."""

    world: World
    params: NDArray[np.float32]
    buffers: Mapping[str, Array]

    @property
    def honest(self) -> list[int]:
        """The clients that are not malicious."""
        clients = np.arange(self.world.run.task.n_clients)
        return [int(client) for client in np.setdiff1d(clients, self.world.malicious)]

    @property
    def malicious(self) -> list[int]:
        """The attackers that have poisoned examples."""
        poisoned = self.world.poisoned
        return [client for client in sorted(poisoned) if len(poisoned[client][1])]

    def clean(self, clients: Iterable[int]) -> Examples:
        """Return the honest examples of these clients, what is exposed of an edge-case pool included."""
        return _together([self.world.honest_examples(client, self._next) for client in clients])

    def poisoned(self, clients: Iterable[int]) -> Examples:
        """Return what these attackers add to their own examples, with their label."""
        return _together([self.world.poisoned[client] for client in clients])

    def edge_cases(self) -> Examples | None:
        """Return what honest clients hold of an edge-case pool; None where that is nothing."""
        return _together(list(self.world.added.values())) if self.world.added else None

    def sent(self, clients: Sequence[int], *, attacking: bool = False) -> Trained:
        """Return what these clients would send in the next round, as their task and the attack train."""
        world, run = self.world, self.world.run
        examples = world.attacking_examples if attacking else world.honest_examples
        train = (run.attack.train if attacking else None) or run.task.train
        shards = [self._shard(client, *examples(client, self._next)) for client in clients]
        with workers(world.model) as crew:
            return crew.train(
                train, self.params, shards, buffers=self.buffers, n_together=run.task.n_together
            )

    def loss(self, params: Array, examples: Examples) -> float:
        """Return the mean cross-entropy of other params, with this model's buffers."""

        def total(x: Tensor, y: Tensor) -> float:
            return float(functional.cross_entropy(self.world.model(x), y, reduction="sum"))

        with _one_thread(), torch.no_grad():
            self._load(params)
            return sum(total(x, y) for x, y in _parts(examples)) / len(examples[1])

    def gradient(self, examples: Examples) -> NDArray[np.float64]:
        """Return the gradient of the mean cross-entropy at this model."""
        whole = np.zeros(self.params.size)
        with _one_thread():
            self._load(self.params)
            for x, y in _parts(examples):
                loss = functional.cross_entropy(self.world.model(x), y, reduction="sum")
                parts = torch.autograd.grad(loss, list(self.world.model.parameters()))
                whole += torch.cat([part.reshape(-1) for part in parts]).cpu().numpy()
        return whole / len(examples[1])

    def shares(self, params: Array, buffers: Mapping[str, Array] | None = None) -> tuple[float, float]:
        """Return accuracy and attack success of other params."""
        data, backdoor, device = self.world.data, self.world.backdoor, self.world.x.device
        assert backdoor is not None

        def share(x: Array, wanted: Any) -> float:
            labels = torch.as_tensor(wanted).expand(len(x))
            parts = _parts((torch.from_numpy(x).to(device), labels))
            right = sum(int((self.world.model(x).argmax(1).cpu() == y).sum()) for x, y in parts)
            return right / len(x)

        with _one_thread(), torch.no_grad():
            self._load(params, buffers)
            return share(data.x_test, data.y_test), share(backdoor.challenge, backdoor.target)

    @property
    def _next(self) -> int:
        return self.world.run.task.n_rounds + 1

    def _shard(self, client: int, x: Tensor, y: Tensor) -> Shard:
        task, stream = self.world.run.task, self.world.stream
        rng = stream("batches", self._next, client)
        batches = schedule(len(y), epochs=task.epochs, batch_size=task.batch_size, rng=rng)
        return Shard(x, y, batches, int(stream("train", self._next, client).integers(2**31)))

    def _load(self, params: Array, buffers: Mapping[str, Array] | None = None) -> None:
        load_params(self.world.model, np.asarray(params, dtype=np.float32), buffers or self.buffers)
        self.world.model.eval()


def trained_ground(run: Run, folder: Path | None = None, *, device: str = "cpu") -> Ground:
    """Return where a clean run ends; with a folder it is stored there, and taken from there.

    >>> from holdfast.lab.choices import build_run
    >>> ground = trained_ground(clean_run(build_run("digits", attack="edge-case", scale="smoke")))
    >>> ground.params.shape, len(ground.malicious)
    ((13706,), 4)
    """
    if folder is None:
        *_, (_, state) = simulate(run, device=device)
    else:
        path = checkpoint_path(run, folder)
        for _ in run_and_record(run, folder, device=device):
            pass
        if not path.exists():  # finished some time, and the model thrown away
            for _ in run_and_record(run, folder, resume=False, device=device):
                pass
        state = load_checkpoint(path, run, device=device)
    return Ground(build_world(run, device), state.params, state.buffers)


class _one_thread:  # noqa: N801 - read as a function, as contextlib's are
    """One thread of torch: with more, sums are made in another order."""

    def __enter__(self) -> None:
        self.before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *error: object) -> None:
        torch.set_num_threads(self.before)


def _together(parts: Sequence[Examples]) -> Examples:
    return torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])


def _parts(examples: Examples) -> Iterator[Examples]:
    x, y = examples
    for start in range(0, len(y), PART):
        yield x[start : start + PART], y[start : start + PART]
