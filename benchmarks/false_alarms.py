"""How often does the watch expel honest clients? Federations without attackers, watched: `make bench-honest`.

Tasks, splits from i.i.d. to one or two classes per client, 20 to 200 clients, several seeds. Plain averaging
trains; the watch only reports. One line of JSON per training is appended: a run that was stopped resumes.
"""

import argparse
import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HOLDFAST_THREADS", "1")

from holdfast import factions, fedavg
from holdfast.errors import InputError
from holdfast.lab import TASKS, Defence, Run, simulate
from holdfast.lab.data.split import dirichlet, iid

RESULTS = Path(__file__).parent / "results" / "false_alarms.jsonl"
SPLITS = {
    "iid": iid,
    **{f"dirichlet {alpha}": partial(dirichlet, alpha=alpha, n_least=2) for alpha in (1.0, 0.5, 0.1)},
}


def federations(
    tasks: list[str], sizes: list[int], seeds: list[int], n_rounds: int
) -> Iterator[dict[str, Any]]:
    """Yield the description of every federation, the first seed of all first."""
    for seed in seeds:
        for n_clients in sizes:
            for task in tasks:
                for split in SPLITS:
                    yield {
                        "task": task,
                        "split": split,
                        "n_clients": n_clients,
                        "seed": seed,
                        "n_rounds": n_rounds,
                    }


def watched(task: str, split: str, n_clients: int, seed: int, n_rounds: int) -> dict[str, Any]:
    """Return the strongest evidence of one training, and how many clients were ever expelled."""
    run = Run(
        TASKS[task], defence=Defence("watched", fedavg, watch=factions(mode="report")), seed=seed
    ).replace(
        split=SPLITS[split],
        n_clients=n_clients,
        n_per_round=min(20, max(10, n_clients // 2)),
        n_rounds=n_rounds,
    )
    evidence, shared, expelled = 0.0, 0.0, set()
    for record, state in simulate(run):
        found = float(state.memory.watch.evidence.max())
        if found > evidence:
            evidence, shared = found, record.verdicts.shared
        expelled |= set(record.verdicts.named)
    return {"evidence": round(evidence, 3), "shared": shared, "expelled": len(expelled)}


def main() -> None:
    """Make the trainings that are missing, and say how many had a false alarm."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", default="spambase,phishing-urls,digits,phishing")
    parser.add_argument("--clients", default="20,50,100,200")
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    done = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    known = {
        tuple(line[name] for name in ("task", "split", "n_clients", "seed", "n_rounds")) for line in done
    }
    wanted = federations(
        given.tasks.split(","),
        [int(size) for size in given.clients.split(",")],
        [int(seed) for seed in given.seeds.split(",")],
        given.rounds,
    )
    given.out.parent.mkdir(exist_ok=True)
    for one in wanted:
        if tuple(one.values()) in known:
            continue
        try:
            line = one | watched(**one)
        except InputError as error:  # so few examples cannot be dealt out so unevenly
            print(f"left out: {one}: {error}")
            continue
        done.append(line)
        print(line, flush=True)
        with given.out.open("a") as file:
            file.write(json.dumps(line) + "\n")
    for split in SPLITS:
        some = [line for line in done if line["split"] == split]
        n_false = sum(line["expelled"] > 0 for line in some)
        print(f"{split}: {n_false} of {len(some)} trainings with a false alarm")


if __name__ == "__main__":
    main()
