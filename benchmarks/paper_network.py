"""Figures 4 and 5, mimicry, minima, and what rules let through: `python -m benchmarks.paper_network`.

The network is that of the table `paper_network`, under its protocol or, with `--task`, another one. What
rules let through is measured in rounds right after the start, and after 30 and 100 rounds of plain averaging
under the attack, each with other clients. Figure 4 looks at models after 30 clean rounds, the other studies
at the one after a single clean round. Each study is stored once it is made, in the same folder as the runs: a
command that was stopped resumes.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("HOLDFAST_THREADS", "1")

from holdfast.aggregators import (
    and_mask,
    fedavg,
    invariant,
    krum_trimmed_mean,
    median,
    multi_krum,
    rfa,
    trimmed_mean,
)
from holdfast.core import bind
from holdfast.lab.choices import build_run
from holdfast.lab.scenario import Run
from holdfast.paper.network_table import NETWORKS
from holdfast.paper.studies import NETWORK_ANALYSES, load_or_make_study, rules_on_a_round
from holdfast.paper.studies.starts import AfterRounds

#: The rules of the table, and those that leaked least from another warm start.
RULES = (
    *(fedavg, trimmed_mean(alpha=0.25), and_mask(tau=0.2), median, rfa),
    *(invariant(tau=0.2, alpha=0.25), invariant(tau=0.6, alpha=0.25), invariant(tau=0.6, alpha=0.45)),
    *(multi_krum(n_malicious=4), krum_trimmed_mean(n_malicious=4)),
)

#: Rules are probed after so many rounds of plain averaging under the attack.
N_ROUNDS = (0, 30, 100)

STUDIES = {
    **{name: study for _, own in NETWORK_ANALYSES.values() for name, study in own.items()},
    **{
        f"rules after {n_rounds}": bind(
            rules_on_a_round, "study", rules=RULES, start=AfterRounds(n_rounds), draws=5
        )
        for n_rounds in N_ROUNDS
    },
}


def lines(folder: Path, *, task: str, scale: str) -> Iterator[str]:
    """Yield what was found as lines of text, each study once it is there."""
    run = build_run(task, attack="edge-case", scale=scale).replace(n_rounds=1)
    yield from _one_update(run, folder)
    for n_rounds in N_ROUNDS:
        yield from _let_through(replace(run, sampling="fixed"), folder, n_rounds)
    found = load_or_make_study(
        STUDIES["landscape"], run.replace(n_rounds=NETWORK_ANALYSES["figure4"][0]), folder
    )
    for slope in found.slopes:
        rises = f"{slope.rise:.4g} towards the backdoor, {slope.random_rise:.4g} at random"
        yield f"{slope.exposure:.0%} of the pool exposed: the honest loss rises by {rises}"


def _one_update(run: Run, folder: Path) -> Iterator[str]:
    """Yield what the update of an attacker looks like, beside honest ones."""
    found = load_or_make_study(STUDIES["gradient_histogram"], run, folder)
    for threshold, share in found.share_above.items():
        yield f"entries above {threshold}: {round(share * found.n_entries):,} of {found.n_entries:,}"
    yield f"largest {found.largest:.3g}; half of the squared norm is in {found.share_of_half:.2%} of them"
    mimicked = load_or_make_study(STUDIES["mimicry"], run, folder)
    yield f"cosine without mimicry {mimicked.cosine:.3f}, length {mimicked.length:.2f}"
    for point in mimicked.points:
        yield f"{point.n_kept:,} kept: cosine {point.cosine:.3f}, slowdown {point.slowdown:.1%}"
    apart = load_or_make_study(STUDIES["separable_minima"], run, folder)
    yield f"{apart.ratio:.2f} times as far from the hull as an honest model from the others'"
    yield f"ASR {apart.malicious_success:.3f} against at most {max(apart.mixed_success):.3f} of mixtures"


def _let_through(run: Run, folder: Path, n_rounds: int) -> Iterator[str]:
    """Yield what each rule lets through in one round, after so many rounds of plain averaging."""
    found = load_or_make_study(STUDIES[f"rules after {n_rounds}"], run, folder)
    of = f"{found.n_attackers[0]} attackers of {found.n_clients}"
    yield f"after {n_rounds} rounds: {of}, accuracy {found.accuracy:.3f}"
    for rule in found.rules:
        let = (f"{own.leak:.3f} / {own.gain:.2f} / {own.dose:.3f}" for own in rule.draws)
        yield f"{rule.rule}: leak / gain / dose {', '.join(let)}"


def main() -> None:
    """Make what is missing, and print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--task", default=NETWORKS[0], choices=NETWORKS)
    parser.add_argument("--scale", default="cpu")
    given = parser.parse_args()
    for line in lines(given.out, task=given.task, scale=given.scale):
        print(line, flush=True)


if __name__ == "__main__":
    main()
