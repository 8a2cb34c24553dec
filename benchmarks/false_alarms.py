"""How often does the watch name honest clients? Federations without attackers, watched: `make bench-honest`.

Tasks, splits from i.i.d. to one or two classes per client, 20 to 200 clients, several seeds, behind plain
averaging or a robust rule (`--behind`) that expects a fifth of the clients to attack. The watch only reports.
One line of JSON per training is appended: a run that was stopped resumes.
"""

import argparse
import itertools
import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HOLDFAST_THREADS", "1")

from holdfast import factions, fedavg, flame, krum_trimmed_mean
from holdfast.core import Rule
from holdfast.errors import InputError
from holdfast.lab import TASKS, Defence, Run, simulate
from holdfast.lab.data.split import dirichlet, iid

RESULTS = Path(__file__).parent / "results" / "false_alarms.jsonl"
SPLITS = {
    "iid": iid,
    **{f"dirichlet {alpha}": partial(dirichlet, alpha=alpha, n_least=2) for alpha in (1.0, 0.5, 0.1)},
}


#: What tells one training from another.
DESCRIPTION = ("behind", "task", "split", "n_clients", "seed", "n_rounds")


def rule_behind(name: str, n_per_round: int) -> Rule:
    """Build the rule behind the watch."""
    rules = {"fedavg": fedavg, "flame": flame}
    return rules[name] if name in rules else krum_trimmed_mean(n_malicious=round(0.2 * n_per_round))


def federations(
    behind: str, tasks: list[str], sizes: list[int], splits: list[str], seeds: list[int], n_rounds: int
) -> Iterator[dict[str, Any]]:
    """Yield the description of every federation, the first seed of all first."""
    for seed, n_clients, task, split in itertools.product(seeds, sizes, tasks, splits):
        yield dict(zip(DESCRIPTION, (behind, task, split, n_clients, seed, n_rounds), strict=True))


def watched(behind: str, task: str, split: str, n_clients: int, seed: int, n_rounds: int) -> dict[str, Any]:
    """Measure the strongest evidence of one training, and count the clients that were ever named.

    `certain` are those of them that an expelling watch would expel; the others would count as one.
    """
    n_per_round = min(20, max(10, n_clients // 2))
    defence = Defence("watched", rule_behind(behind, n_per_round), watch=factions(mode="report"))
    run = Run(TASKS[task], defence=defence, seed=seed).replace(
        split=SPLITS[split], n_clients=n_clients, n_per_round=n_per_round, n_rounds=n_rounds
    )
    evidence, shared, named, certain = 0.0, 0.0, set(), set()
    for record, state in simulate(run):
        memory = state.memory.watch
        strongest = float(memory.evidence.max())
        if strongest > evidence:
            evidence, shared = strongest, record.verdicts.shared
        named |= set(record.verdicts.named)
        certain |= {memory.clients[position] for position in memory.expelled.nonzero()[0]}
    return {
        "evidence": round(evidence, 3),
        "shared": shared,
        "expelled": len(named),
        "certain": len(certain),
    }


def main() -> None:
    """Make the trainings that are missing, and say how many had a false alarm."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--behind", default="fedavg", choices=("fedavg", "krum_trimmed_mean", "flame"))
    parser.add_argument("--tasks", default="spambase,phishing-urls,digits,phishing")
    parser.add_argument("--clients", default="20,50,100,200")
    parser.add_argument("--splits", default=",".join(SPLITS))
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    done = [{"behind": "fedavg", **json.loads(line)} for line in lines]
    known = {tuple(training[name] for name in DESCRIPTION) for training in done}
    wanted = federations(
        options.behind,
        options.tasks.split(","),
        [int(size) for size in options.clients.split(",")],
        options.splits.split(","),
        [int(seed) for seed in options.seeds.split(",")],
        options.rounds,
    )
    options.out.parent.mkdir(exist_ok=True)
    for federation in wanted:
        if tuple(federation.values()) in known:
            continue
        try:
            training = federation | watched(**federation)
        except InputError as error:  # so few examples cannot be dealt out so unevenly
            print(f"left out: {federation}: {error}")
            continue
        done.append(training)
        print(training, flush=True)
        with options.out.open("a") as file:
            file.write(json.dumps(training) + "\n")
    for behind in dict.fromkeys(training["behind"] for training in done):
        trainings = [training for training in done if training["behind"] == behind]
        n_false = sum(training["expelled"] > 0 for training in trainings)
        print(f"behind {behind}: {n_false} of {len(trainings)} trainings with a false alarm")


if __name__ == "__main__":
    main()
