"""What was measured of the watch: under every attack, among honest clients, and among honest minorities."""

import json
from pathlib import Path
from statistics import mean
from typing import Any

from holdfast.paper.watch_tables import DEFENCES

from .grid import grid

ROOT = Path(__file__).parents[2]
#: After how many rounds defences are compared; and the watched defence, with the name of its column.
AFTER, WATCHED = (25, 50, 100), ("factions+krum_trimmed_mean", "watch + rule")


def attacks_text(experiments: list[dict[str, Any]], task: str) -> str:
    """Return attack success by attack and defence, and last the worst case of each defence, on one task."""
    tried = under_attacks(experiments, task)
    attacks = list(dict.fromkeys(attack for row in tried.values() for attack in row))
    lines = [[task, *tried], ["---", *["---:"] * len(tried)]]
    for attack in attacks:
        lines.append([attack, *(f"{row[attack]:.2f}" if attack in row else "" for row in tried.values())])
    worst = [f"**{max(row.values()):.2f}**" for row in tried.values()]
    return grid([*lines, ["**worst case**", *worst]])


def worst_text(experiments: list[dict[str, Any]], tasks: tuple[str, ...] = ("digits", "phishing")) -> str:
    """Return the worst attack on each defence, and its mean over all attacks, on several tasks."""
    tried = {task: under_attacks(experiments, task) for task in tasks}
    heads = [head for task in tasks for head in (f"{task}: the worst attack", f"{task}: mean")]
    lines = [["defence", *heads], ["---", *["---:"] * len(heads)]]
    for defence in tried[tasks[0]]:
        if any(defence not in own for own in tried.values()):
            continue  # it has yet to meet all attacks on one of the tasks
        rows = [own[defence] for own in tried.values()]
        cells = [text for row in rows for text in (_worst(row), f"{mean(row.values()):.2f}")]
        lines.append([f"**{defence}**" if "atch" in defence else defence, *cells])
    counts = ", ".join(f"{max(map(len, own.values()))} on {task}" for task, own in tried.items())
    return grid(lines) + f"\nAttack success, means of seeds 0 to 2; attacks tried: {counts}.\n"


def under_attacks(experiments: list[dict[str, Any]], task: str) -> dict[str, dict[str, float]]:
    """Return [defence][attack] the attack success on a task, of the defences that met every attack."""
    found: dict[str, dict[str, float]] = {row.label: {} for row in DEFENCES}
    for one in sorted(experiments, key=lambda one: one["name"] == "hiding"):  # the plain attack comes first
        for cell in one["cells"] if one["name"] in ("table1", "watch", "hiding") else ():
            defence, _, part = cell["row"].partition(": ")
            if cell["measured"] and cell["attack"] != "none" and cell["task"] == task and defence in found:
                found[defence][part or "plain"] = cell["measured"]["attack_success"]["mean"]
    most = max(len(row) for row in found.values()) - 1  # whitewash is for a watch alone
    return {defence: row for defence, row in found.items() if len(row) >= most}


def _worst(row: dict[str, float]) -> str:
    attack = max(row, key=lambda name: row[name])
    return f"{row[attack]:.2f} ({attack})"


def found_text(found: dict[str, Any], row: str = "Watch, Krum, trimmed mean") -> str:
    """Return how many attackers the watch found under the edge case, task by task and seed by seed."""
    (table,) = [one for one in found["experiments"] if one["name"] == "watch"]
    heads = ["task", "attackers", "found, by seed", "honest clients expelled"]
    lines = [heads, ["---", *["---:"] * 3]]
    for cell in table["cells"]:
        if cell["row"] == row and cell["measured"]:
            n_found, n_wronged = (cell["measured"][name]["values"] for name in ("n_found", "n_wronged"))
            n_malicious = len(found["runs"][cell["keys"][0]]["malicious"])
            counts = ", ".join(f"{count:.0f}" for count in n_found)
            lines.append([cell["task"], str(n_malicious), counts, f"{sum(n_wronged):.0f}"])
    return grid(lines)


def minorities_text(experiment: dict[str, Any]) -> str:
    """Return accuracy, minority accuracy and attack success of every measured cell."""
    names = ("accuracy", "minority_accuracy", "attack_success")
    columns = [
        c
        for c in experiment["columns"]
        if any(x["measured"] for x in experiment["cells"] if x["column"] == c)
    ]
    lines = [f"| | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    for row in experiment["rows"]:
        by_column = {cell["column"]: cell["measured"] for cell in experiment["cells"] if cell["row"] == row}
        shown = [
            " / ".join(f"{by_column[c][name]['mean']:.3f}" for name in names) if by_column.get(c) else "—"
            for c in columns
        ]
        lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def false_alarms_text() -> str:
    """Count the trainings of honest clients in which the watch would have named anybody."""
    trainings = [training for training in _honest_trainings() if training["behind"] == "fedavg"]
    sizes = sorted({training["n_clients"] for training in trainings})
    rows = [["split", *(f"{size} clients" for size in sizes)], ["---"] * (1 + len(sizes))]
    for split in dict.fromkeys(training["split"] for training in trainings):
        cells = [[x for x in trainings if (x["split"], x["n_clients"]) == (split, size)] for size in sizes]
        name = "i.i.d." if split == "iid" else split.capitalize()
        rows.append([name, *(_alarms(cell) for cell in cells)])
    seeds = sorted({training["seed"] for training in trainings})
    return grid(rows) + f"\nIn all, {_alarms(trainings)} trainings, seeds {seeds[0]} to {seeds[-1]}.\n"


def false_alarms_by_rule_text() -> str:
    """Count the same behind each rule, and the trainings in which anybody would have been expelled."""
    trainings = _honest_trainings()
    tasks = list(dict.fromkeys(training["task"] for training in trainings if training["behind"] != "fedavg"))
    rows = [["behind", *tasks, "all", "of these, somebody expelled"], ["---", *["---:"] * (len(tasks) + 2)]]
    for behind in dict.fromkeys(training["behind"] for training in trainings):
        own = [x for x in trainings if x["behind"] == behind and x["task"] in tasks]
        certain = [x for x in own if "certain" in x]
        n_certain = str(sum(x["certain"] > 0 for x in certain)) if certain else "not counted"
        cells = [_alarms([x for x in own if x["task"] == task]) for task in tasks]
        rows.append([f"`{behind}`", *cells, _alarms(own), n_certain])
    return grid(rows)


def _honest_trainings() -> list[dict[str, Any]]:
    """Read the trainings of `benchmarks.false_alarms`; the first ones were all behind plain averaging."""
    lines = (ROOT / "benchmarks" / "results" / "false_alarms.jsonl").read_text().splitlines()
    return [{"behind": "fedavg", **json.loads(line)} for line in lines]


def benefit_text() -> str:
    """Tabulate attack success and accuracy with and without a watch, by clients and rounds."""
    lines = (ROOT / "benchmarks" / "results" / "watch_benefit.jsonl").read_text().splitlines()
    trainings = [json.loads(line) for line in lines]
    pairs = [("fedavg", "averaging", AFTER[0])]
    pairs += [
        (rule, name, after) for after in AFTER for rule, name in (("krum_trimmed_mean", "rule"), WATCHED)
    ]
    heads = ["clients", "attack", "attackers expelled", *(f"{after}: {name}" for _, name, after in pairs)]
    rows = [heads, ["---:", "---", "---", *["---:"] * len(pairs)]]
    for size in sorted({training["n_clients"] for training in trainings}):
        for attack in dict.fromkeys(training["attack"] for training in trainings):
            some = [
                training
                for training in trainings
                if (training["n_clients"], training["attack"]) == (size, attack)
            ]
            if some:
                cells = [_after(some, defence, after) for defence, _, after in pairs]
                rows.append([str(size), attack, _expelled(some), *cells])
    seeds = ", ".join(str(seed) for seed in sorted({training["seed"] for training in trainings}))
    return grid(rows) + (
        "\n*Attack success in percent, accuracy in brackets: means of the last five of so many rounds, seeds"
        f" {seeds}. Attackers expelled: how many, and after which round. A dash: not measured.*\n"
    )


def _after(trainings: list[dict[str, Any]], defence: str, after: int) -> str:
    """Average attack success and accuracy of the runs that are long enough."""
    runs = {
        training["seed"]: training
        for training in trainings
        if training["defence"] == defence and training["n_rounds"] >= after
    }
    if not runs:
        return "—"
    means = [
        mean(mean(training[name][after - 5 : after]) for training in runs.values())
        for name in ("attack_success", "accuracy")
    ]
    few = f" ({len(runs)})" if len(runs) < len({training["seed"] for training in trainings}) else ""
    return f"{means[0]:.0f} [{means[1]:.0f}]{few}"


def _expelled(trainings: list[dict[str, Any]]) -> str:
    """Count the attackers that the watch named, and the round of the last of them, seed by seed."""
    runs = {training["seed"]: training for training in trainings if training["defence"] == WATCHED[0]}
    told = []
    for _, training in sorted(runs.items()):
        most = max(training["found"], default=0)
        told.append(f"{most} by round {training['found'].index(most) + 1}" if most else "none")
    wronged = max((max(training["wronged"], default=0) for training in runs.values()), default=0)
    said = told[0] if len(set(told)) == 1 else ", ".join(told)
    return f"{said}; {wronged} honest" if wronged else said


def _alarms(made: list[dict[str, Any]]) -> str:
    return f"{sum(one['expelled'] > 0 for one in made)} of {len(made)}" if made else "—"
