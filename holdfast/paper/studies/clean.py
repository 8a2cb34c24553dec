"""Clean runs: nobody attacks in them. Studies look into the models they end with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError
from ...lab.scenario import Defence, Run

if TYPE_CHECKING:
    from ...lab.trained import Probe

__all__ = ["clean_run", "probe_clean_run"]


def clean_run(run: Run, *, exposure: float = 0.0) -> Run:
    """Return the run with plain averaging, and attackers who hold poisoned examples but never attack.

    `exposure` is the share of an edge-case pool that honest clients hold, with correct labels.
    """
    if run.attack.backdoor is None or run.attack.n_malicious == 0:
        raise InputError(
            f"a study needs an attack with a backdoor, such as 'edge-case'; got {run.attack.name!r}"
            f" with {run.attack.n_malicious} malicious clients"
        )
    attack = replace(run.attack, exposure=exposure, rounds=range(0))
    return replace(run, attack=attack, defence=Defence())


def probe_clean_run(run: Run, folder: Path | None = None, *, exposure: float = 0.0) -> Probe:
    """Return the model that the clean run ends with; a folder stores it, and saves training it again."""
    from ...lab.simulation import simulate
    from ...lab.simulation.world import build_world
    from ...lab.trained import Probe
    from ...runs.recording import final_state

    clean = clean_run(run, exposure=exposure)
    if folder is None:
        *_, (_, state) = simulate(clean)
    else:
        state = final_state(clean, folder)
    return Probe(build_world(clean, "cpu"), state.params, state.buffers)
