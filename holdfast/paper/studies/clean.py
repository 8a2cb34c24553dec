"""Clean runs: nobody attacks in them. Studies look into the models they end with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError
from ...lab.scenario import Defence, Run

if TYPE_CHECKING:
    from ...lab.probe import Probe

__all__ = ["clean_run", "probe_clean_run"]


def clean_run(run: Run, *, exposure: float = 0.0) -> Run:
    """Return the run with plain averaging, and attackers who hold poisoned examples but never attack.

    `exposure` is the share of an edge-case pool that honest clients hold, with correct labels.

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


def probe_clean_run(
    run: Run, folder: Path | None = None, *, exposure: float = 0.0, device: str = "cpu"
) -> Probe:
    """Return the model that the clean run ends with; a folder stores it, and saves training it again.

    >>> from holdfast.lab.choices import build_run
    >>> probe = probe_clean_run(build_run("digits", attack="edge-case", scale="smoke"))
    >>> probe.params.shape, len(probe.malicious)
    ((13706,), 4)
    """
    from ...lab.probe import Probe
    from ...lab.simulation import simulate
    from ...lab.simulation.world import build_world
    from ...runs.recording import final_state

    clean = clean_run(run, exposure=exposure)
    if folder is None:
        *_, (_, state) = simulate(clean, device=device)
    else:
        state = final_state(clean, folder, device=device)
    return Probe(build_world(clean, device), state.params, state.buffers)
