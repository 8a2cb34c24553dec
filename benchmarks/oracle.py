"""How good could any watch be? Trainings in which attackers have no say from the first round on.

There is no hearing and no rewind, and nobody honest is wronged: what the model still lacks beside a training
without attackers is what their examples would have taught it. One line of JSON per training is appended: a
run that was stopped resumes.
"""

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HOLDFAST_THREADS", "1")

from holdfast.lab import build_run, simulate
from holdfast.lab.simulation.world import build_world
from holdfast.watching import ClientMemory, Verdicts, Watched, watch

RESULTS = Path(__file__).parent / "results" / "oracle.jsonl"


@watch
def oracle(updates: Any, *, attackers: Sequence[int], clients: Sequence[Any]) -> Watched:
    """Return that the attackers have no say, whatever anybody sends."""
    known = {row: "attacks" for row, client in enumerate(clients) if client in attackers}
    return Watched(ClientMemory(), Verdicts(0), known)


def trained(task: str, rule: str, seed: int) -> dict[str, Any]:
    """Return how a training under the edge case ends if attackers have no say."""
    run = build_run(task, attack="edge-case", defence=rule, seed=seed)
    attackers = tuple(build_world(run, "cpu").malicious.tolist())
    guarded = replace(run, defence=replace(run.defence, watch=oracle(attackers=attackers)))
    *_, (record, _) = simulate(guarded)
    return {
        "accuracy": record.accuracy,
        "attack_success": record.attack_success,
        "n_rounds": run.task.n_rounds,
    }


def main() -> None:
    """Make the trainings that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", default="cifar10,twitter")
    parser.add_argument("--rules", default="fedavg,krum_trimmed_mean")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    done = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    known = {(line["task"], line["rule"], line["seed"]) for line in done}
    for seed in map(int, given.seeds.split(",")):
        for task in given.tasks.split(","):
            for rule in given.rules.split(","):
                if (task, rule, seed) in known:
                    continue
                line = {"task": task, "rule": rule, "seed": seed} | trained(task, rule, seed)
                print(line, flush=True)
                with given.out.open("a") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
