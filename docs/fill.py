"""Put the stored results into the pages of docs, and their figures into docs/figures: `make fill`."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from front import write_front

import holdfast
from holdfast import aggregators
from holdfast.lab import TASKS
from holdfast.lab.catalogue import list_choices
from holdfast.paper.evidence import evidence
from holdfast.paper.experiment import runs_folder
from holdfast.paper.studies.store import list_studies, studies_folder
from holdfast.paper.watch_tables import DEFENCES
from holdfast.report.figures import draw_figures
from holdfast.report.leak_figure import leak_figure
from holdfast.report.plotting import save
from holdfast.report.tables import claims_text, table_text
from holdfast.runs.results import list_results

ROOT = Path(__file__).parent.parent
NAMES = ("results.md", "watch.md", "probe.md", "rules.md", "attacks.md")
PAGES = tuple(ROOT / "docs" / name for name in NAMES)
RESULTS = ROOT / "results"
MARKED = re.compile(r"<!-- (\S+):start -->\n.*?<!-- \1:end -->\n", re.S)


def filled(page: str, found: dict[str, Any]) -> str:
    """Return the page with every marked part as a document of results has it."""

    def part(match: re.Match[str]) -> str:
        return f"<!-- {match[1]}:start -->\n{_text(match[1], found)}<!-- {match[1]}:end -->\n"

    return MARKED.sub(part, page)


def _text(name: str, found: dict[str, Any]) -> str:
    """Return a table, or of the claims those that are measured."""
    if name == "claims":
        return claims_text([one for one in found["claims"] if one["verdict"] != "not measured"])
    if name.startswith("probe-"):
        own = {
            "probe-paper": paper_text,
            "probe-paper-draws": paper_draws_text,
            "probe-foretold": foretold_text,
        }
        return own[name]() if name in own else probes_text(name.removeprefix("probe-"))
    if name in LISTS:
        return LISTS[name]()
    if name.startswith("attacks-"):
        return attacks_text(found["experiments"], name.removeprefix("attacks-"))
    (experiment,) = [one for one in found["experiments"] if one["name"] == name]
    if name == "minorities":
        return minorities_text(experiment)
    return table_text(experiment, "markdown", scale=found["scale"])


#: What a rule may ask for, in words.
NEEDS = {
    "weights": "sample counts",
    "clients": "client ids",
    "state": "memory",
    "params": "the global model",
    "reference": "data of the server's own",
    "rng": "random numbers",
}


def rules_text() -> str:
    """Return every rule with what it returns, what it needs, and its paper."""
    rows = [["rule", "what it returns", "needs", "paper"], ["---"] * 4]
    papers = {entry.name: entry for entry in list_choices("defences")}
    for name in aggregators.__all__:
        bound, entry = getattr(aggregators, name), papers[name]
        needs = [word for asked, word in NEEDS.items() if bound.needs(asked)]
        needs += [f"`{setting}`" for setting in bound.missing]
        rows.append([f"`{name}`", entry.what, ", ".join(needs), _linked(entry.paper)])
    return _table(rows)


def clients_text() -> str:
    """Return the defences that are more than a rule, and in which the clients or the server train."""
    entries = [entry for entry in list_choices("defences") if entry.name not in aggregators.__all__]
    rows = [["defence", "how it trains", "paper"], ["---"] * 3]
    return _table(rows + [[f"`{entry.name}`", entry.what, _linked(entry.paper)] for entry in entries])


def backdoors_text() -> str:
    """Return every backdoor by name, with the tasks that have it."""
    tasks: dict[tuple[str, str, str], list[str]] = {}
    for entry in list_choices("attacks"):
        if entry.tasks:
            tasks.setdefault((entry.name, entry.what, entry.paper), []).append(entry.tasks[0])
    rows = [["backdoor", "what it is", "on", "paper"], ["---"] * 4]
    for (name, what, paper), own in tasks.items():
        rows.append([f"`{name}`", what, ", ".join(own), _linked(paper)])
    return _table(rows)


def parts_text() -> str:
    """Return all that can be joined to a backdoor, or stand alone."""
    rows = [["part", "what attackers send, or do", "paper"], ["---"] * 3]
    for entry in list_choices("attacks"):
        if not entry.tasks and entry.name != "none":
            rows.append([f"`{entry.name}`", entry.what, _linked(entry.paper)])
    return _table(rows)


def _linked(paper: str) -> str:
    return f"[paper]({paper})" if paper else ""


def false_alarms_text() -> str:
    """Return in how many trainings of honest clients the watch would have expelled anybody."""
    lines = (ROOT / "benchmarks" / "results" / "false_alarms.jsonl").read_text().splitlines()
    made = [json.loads(line) for line in lines]
    sizes = sorted({one["n_clients"] for one in made})
    rows = [["split", *(f"{size} clients" for size in sizes)], ["---"] * (1 + len(sizes))]
    for split in dict.fromkeys(one["split"] for one in made):
        cells = [[x for x in made if (x["split"], x["n_clients"]) == (split, size)] for size in sizes]
        name = "i.i.d." if split == "iid" else split.capitalize()
        rows.append([name, *(_alarms(cell) for cell in cells)])
    seeds = sorted({one["seed"] for one in made})
    return _table(rows) + f"\nIn all, {_alarms(made)} trainings, seeds {seeds[0]} to {seeds[-1]}.\n"


def _alarms(made: list[dict[str, Any]]) -> str:
    return f"{sum(one['expelled'] > 0 for one in made)} of {len(made)}" if made else "—"


LISTS = {
    "rules": rules_text,
    "clients": clients_text,
    "backdoors": backdoors_text,
    "parts": parts_text,
    "false_alarms": false_alarms_text,
}


def attacks_text(experiments: list[dict[str, Any]], task: str) -> str:
    """Return attack success by attack and defence, and last the worst case of each defence, on one task.

    Only defences that were tried with every attack are in it.
    """
    found: dict[str, dict[str, float]] = {row.label: {} for row in DEFENCES}
    for one in sorted(experiments, key=lambda one: one["name"] == "hiding"):  # the plain attack comes first
        for cell in one["cells"] if one["name"] in ("table1", "watch", "hiding") else ():
            defence, _, part = cell["row"].partition(": ")
            if cell["measured"] and cell["attack"] != "none" and cell["task"] == task and defence in found:
                found[defence][part or "plain"] = cell["measured"]["attack_success"]["mean"]
    most = max(len(row) for row in found.values()) - 1  # whitewash is for a watch alone
    tried = {defence: row for defence, row in found.items() if len(row) >= most}
    attacks = list(dict.fromkeys(attack for row in tried.values() for attack in row))
    lines = [f"| {task} | {' | '.join(tried)} |", "| --- |" + " ---: |" * len(tried)]
    for attack in attacks:
        cells = [f"{row[attack]:.2f}" if attack in row else "" for row in tried.values()]
        lines.append(f"| {attack} | {' | '.join(cells)} |")
    worst = [f"**{max(row.values()):.2f}**" for row in tried.values()]
    return "\n".join([*lines, f"| **worst case** | {' | '.join(worst)} |"]) + "\n"


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


def probes() -> list[dict[str, Any]]:
    """Return the stored probes, each with its task, its start and its scale."""
    found = []
    for entry in list_studies(studies_folder(RESULTS))[0]:
        study, task = entry["description"]["study"], entry["description"]["run"]["task"]
        if study.startswith("rules_on_a_round("):
            start = study.partition(" start=")[2].partition(", draws=")[0]
            scale = "paper" if task["model"].startswith("resnet18(") else "cpu"
            found.append({"task": task["name"], "start": start, "scale": scale, **entry["found"]})
    return found


def probes_text(which: str) -> str:
    """Return leak / gain by rule and task, of the probes from this kind of start."""
    chosen = {
        one["task"]: one for one in probes() if one["scale"] == "cpu" and one["start"].startswith(which)
    }
    columns = {task: chosen[task] for task in TASKS if task in chosen}
    rows = [["rule", *columns], ["---", *["---:"] * len(columns)]]
    for place, rule in enumerate(name for name in aggregators.__all__ if name in holdfast.__all__):
        rows.append([rule, *(" / ".join(_means(one["rules"][place])) for one in columns.values())])
    if which == "WarmStart":
        epochs = (one["start"].partition("epochs=")[2].partition(".")[0] for one in columns.values())
        rows.append(["*epochs*", *epochs])
    before = (f"{one['accuracy']:.2f}, {one['attack_success']:.2f}" for one in columns.values())
    rows.append(["*Acc, ASR before*", *before])
    return _table(rows)


def paper_text() -> str:
    """Return all that was measured at the paper's scale on one draw, the least leak per gain first."""
    found = [one for one in probes() if one["scale"] == "paper" and len(one["n_attackers"]) == 1]
    rows = []
    for rule in (rule for one in found for rule in one["rules"]):
        (one,) = rule["draws"]
        ratio = one["leak"] / one["gain"]
        after = f"{one['accuracy']:.2f}, {one['attack_success']:.2f}"
        cells = [f"`{rule['rule']}`", *_means(rule), f"{ratio:.3f}", after, f"{one['seconds']:.1f}"]
        rows.append((ratio, cells))
    accuracy, success = found[0]["accuracy"], found[0]["attack_success"]
    before = ["*before the round*", "", "", "", f"{accuracy:.2f}, {success:.2f}", ""]
    head = ["rule", "leak", "gain", "leak per gain", "Acc, ASR", "seconds"]
    return _table([head, ["---", *["---:"] * 5], *(cells for _, cells in sorted(rows)), before])


def paper_draws_text() -> str:
    """Return leak / gain at the paper's scale, draw by draw."""
    (found,) = [one for one in probes() if one["scale"] == "paper" and len(one["n_attackers"]) > 1]
    draws = [f"draw {number}" for number, _ in enumerate(found["n_attackers"], start=1)]
    rows = [["rule", *draws], ["---", *["---:"] * len(draws)]]
    for rule in found["rules"]:
        cells = (f"{one['leak']:.3f} / {one['gain']:.2f}" for one in rule["draws"])
        rows.append([f"`{rule['rule']}`", *cells])
    return _table(rows)


def paper_figure() -> Any:
    """Return leak against gain of all rules at the paper's scale."""
    (found,) = [one for one in probes() if one["scale"] == "paper" and len(one["rules"]) > 10]
    points = {
        rule["rule"].partition("(")[0]: [(one["leak"], one["gain"]) for one in rule["draws"]]
        for rule in found["rules"]
    }
    share = found["n_attackers"][0] / found["n_clients"]
    title = "CIFAR-10, ResNet-18, edge case: one round from a warm start"
    return leak_figure(points, share=share, title=title)


def foretold_text() -> str:
    """Return how well the leak in one round ranks the rules by the attack success of whole trainings."""
    trained: dict[tuple[str, str], list[Any]] = {}
    for run in list_results(runs_folder(RESULTS))[0]:
        if run.attack == "edge-case" and "watch" not in run.description["defence"]:
            rule = run.description["defence"]["aggregate"]
            trained.setdefault((run.task, rule), []).append(run.last("attack_success"))
    starts: dict[str, dict[str, str]] = {
        "WarmStart": {},
        "AfterRounds(n_rounds=0)": {},
        "AfterRounds(n_rounds=20)": {},
    }
    n_rules = {}
    for probe in (one for one in probes() if one["scale"] == "cpu"):
        task, known = (
            probe["task"],
            [one for one in probe["rules"] if (probe["task"], one["rule"]) in trained],
        )
        leaks = [sum(draw["leak"] for draw in one["draws"]) for one in known]
        found = _rank_correlation(leaks, [np.mean(trained[task, one["rule"]]) for one in known])
        starts[probe["start"] if probe["start"] in starts else "WarmStart"][task] = f"{found:.2f}"
        n_rules[task] = len(known)
    head = ["task", "rules", "from a warm start", "from a fresh network", "after 20 rounds"]
    rows = [head, ["---", *["---:"] * 4]]
    for task in (task for task in TASKS if task in n_rules):
        rows.append([task, str(n_rules[task]), *(column.get(task, "—") for column in starts.values())])
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n" for cells in rows)


def _rank_correlation(first: Any, second: Any) -> float:
    """Return Spearman's rank correlation, ties sharing their mean rank."""
    ranks = [
        [np.mean(np.flatnonzero(np.sort(values) == one)) for one in values] for values in (first, second)
    ]
    return float(np.corrcoef(ranks)[0, 1])


def _means(rule: dict[str, Any]) -> tuple[str, str]:
    """Return the mean leak and gain of a rule over its draws."""
    leak, gain = (sum(one[name] for one in rule["draws"]) / len(rule["draws"]) for name in ("leak", "gain"))
    return f"{leak:.3f}", f"{gain:.2f}"


if __name__ == "__main__":
    document = evidence(["all", "worst_case"], RESULTS)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), document), encoding="utf-8")
    write_front(document)
    draw_figures(document, ROOT / "docs" / "figures")
    save(paper_figure(), ROOT / "docs" / "figures" / "probe-cifar10.png")
