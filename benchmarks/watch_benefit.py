"""From how many clients and rounds on is the watch worth its listening rounds?

A stock application on Fashion-MNIST with 20 to 100 clients, trained for long enough to compare shorter
trainings with longer ones: plain averaging, a rule that drops outliers, and the watch in front of it, under
attackers that the rule stops and attackers that it misses. One line of JSON per training is appended to
benchmarks/results/watch_benefit.jsonl: a run that was stopped resumes. Remove the file to measure again.
docs/fill.py makes the table in docs/watch.md of it. It needs `holdfast data get fashion-mnist`.
"""

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HOLDFAST_THREADS", "1")

import numpy as np

from holdfast import factions, fedavg, krum_trimmed_mean
from holdfast.lab import Attack, Defence, Run, Task, simulate
from holdfast.lab.attacks import boost, pixel_patch
from holdfast.lab.data import fashion_mnist
from holdfast.lab.data.split import dirichlet
from holdfast.lab.models import fashion_cnn
from holdfast.lab.training import batched_sgd, projected_sgd

RESULTS = Path(__file__).parent / "results" / "watch_benefit.jsonl"

N_PER_ROUND, N_IMAGES, N_ROOT = 20, 400, 100
SANDAL = 5
LR = {"lr": 0.05, "momentum": 0.9}


def three_epochs(model: Any, params: Any, shards: Sequence[Any]) -> Any:
    """Return the updates of attackers who train three times as long as honest clients."""
    longer = [shard._replace(batches=np.tile(shard.batches, (3, 1))) for shard in shards]
    return batched_sgd(model, params, longer, **LR)


#: Half of an attacker's images are copied with a white corner, and labelled as sandals.
CORNER = partial(pixel_patch, rows=(0, 1, 2, 3, 4), columns=(0, 1, 2, 3, 4), target=SANDAL)
ATTACKS = {
    "none": Attack("none", 0, CORNER),  # to an honest model, too, some inputs with the corner are sandals
    "trigger": Attack(
        "trigger", 0, CORNER, train=three_epochs, crafts=(partial(boost, factor=2.0),), poison_fraction=0.5
    ),
    "pgd": Attack("pgd", 0, CORNER, train=partial(projected_sgd, **LR, radius=1.0), poison_fraction=0.5),
    "collude": Attack("collude", 0, CORNER, colludes=True, poison_fraction=0.5),
}
RULE = krum_trimmed_mean(n_malicious=N_PER_ROUND // 5)
DEFENCES = {
    "fedavg": Defence("fedavg", fedavg),
    "krum_trimmed_mean": Defence("krum_trimmed_mean", RULE),
    "factions+krum_trimmed_mean": Defence("factions+krum_trimmed_mean", RULE, watch=factions()),
}


def federation(n_clients: int, n_rounds: int) -> Task:
    """Return the stock application with so many clients, of whom 20 take part in a round."""
    return Task(
        "stock-app",
        partial(fashion_mnist, n_train=n_clients * N_IMAGES + N_ROOT, n_test=2_000),
        fashion_cnn,
        partial(batched_sgd, **LR),
        partial(dirichlet, alpha=1.0),
        batch_size=32,
        n_clients=n_clients,
        n_per_round=N_PER_ROUND,
        n_rounds=n_rounds,
        n_root=N_ROOT,
        n_together=10,
    )


def trained(attack: str, defence: str, n_clients: int, seed: int, *, n_rounds: int) -> dict[str, Any]:
    """Return accuracy and attack success of every round, in percent, and whom the watch expelled by then."""
    n_attackers = n_clients // 5 if attack != "none" else 0
    against = replace(ATTACKS[attack], n_malicious=n_attackers)
    run = Run(federation(n_clients, n_rounds), against, DEFENCES[defence], seed)
    records = [record for record, _ in simulate(run)]
    watched = [record for record in records if record.verdicts is not None]
    return {
        "n_rounds": n_rounds,
        "n_attackers": n_attackers,
        "accuracy": [round(100 * record.accuracy, 1) for record in records],
        "attack_success": [round(100 * record.attack_success, 1) for record in records],
        "found": [record.n_found for record in watched],
        "wronged": [record.n_wronged for record in watched],
        "listening": [record.round for record in watched if record.verdicts.hearing],
        "rewound": [record.round for record in watched if record.verdicts.rewound],
    }


def main() -> None:
    """Make the trainings that are missing, the first seed of all first."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", default="20,50,100")
    parser.add_argument("--attacks", default=",".join(ATTACKS))
    parser.add_argument("--defences", default=",".join(DEFENCES))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    done = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    names = ("attack", "defence", "n_clients", "seed")
    known = {tuple(line[name] for name in names) for line in done if line["n_rounds"] >= given.rounds}
    for seed in map(int, given.seeds.split(",")):
        for n_clients in map(int, given.clients.split(",")):
            for attack in given.attacks.split(","):
                for defence in given.defences.split(","):
                    one = (attack, defence, n_clients, seed)
                    if one in known:
                        continue
                    line = dict(zip(names, one, strict=True)) | trained(*one, n_rounds=given.rounds)
                    last = {name: line[name][-1] for name in ("accuracy", "attack_success")}
                    print(*one, last, flush=True)
                    with given.out.open("a") as file:
                        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
