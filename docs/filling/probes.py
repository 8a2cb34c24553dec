"""Probes of one round: what each rule lets through, by task and start."""

from pathlib import Path
from typing import Any

import numpy as np

from holdfast.lab import TASKS
from holdfast.paper.experiment import runs_folder
from holdfast.paper.network_table import NETWORKS
from holdfast.paper.studies.store import list_studies, studies_folder
from holdfast.report.plotting import BENIGN, MALICIOUS, MUTED, new_figure, with_grid
from holdfast.runs.results import list_results

from .grid import grid

RESULTS = Path(__file__).parents[2] / "results"


def probe_text(name: str) -> str:
    """Return the table of probes that a marker names."""
    if name in NETWORKS:
        return network_text(name)
    return foretold_text() if name == "foretold" else probes_text(name)


def probes() -> list[dict[str, Any]]:
    """Return the stored probes, each with its task and its start."""
    found = []
    for entry in list_studies(studies_folder(RESULTS))[0]:
        study, task = entry["description"]["study"], entry["description"]["run"]["task"]["name"]
        if study.startswith("rules_on_a_round("):
            start = study.partition(" start=")[2].partition(", draws=")[0]
            found.append({"task": task, "start": start, **entry["found"]})
    return found


def probes_text(which: str) -> str:
    """Return leak / gain / dose by rule and task, of the probes from this kind of start."""
    chosen = {one["task"]: one for one in probes() if one["start"].startswith(which)}
    columns = {task: chosen[task] for task in TASKS if task in chosen and task not in NETWORKS}
    rows = [["rule", *columns], ["---", *["---:"] * len(columns)]]
    rules = [{rule["rule"].partition("(")[0]: rule for rule in one["rules"]} for one in columns.values()]
    for name in sorted(set().union(*rules)):
        rows.append([name, *(" / ".join(_let(own[name])) if name in own else "–" for own in rules)])
    if which == "WarmStart":
        epochs = (one["start"].partition("epochs=")[2].partition(".")[0] for one in columns.values())
        rows.append(["*epochs*", *epochs])
    before = (f"{one['accuracy']:.2f}, {one['attack_success']:.2f}" for one in columns.values())
    rows.append(["*Acc, ASR before*", *before])
    return grid(rows)


def network_text(task: str) -> str:
    """Return what rules make of a round in the paper's own network, before and in a training under attack."""
    found = _in_the_network(task)
    if not found:
        return "Not measured yet.\n"
    head = ["rule", *(f"{_when(n_rounds)}: dose, gain" for n_rounds in found)]
    first, *_ = found.values()
    rules = sorted((rule["rule"] for rule in first["rules"]), key=lambda rule: _doses(first, rule)[1])
    rows = [[_short(rule), *(_dose_and_gain(one, rule) for one in found.values())] for rule in rules]
    return grid([head, ["---", *["---:"] * len(found)], *rows])


def network_figure() -> Any:
    """Return the dose of every rule in the paper's own network, before and in a training under attack."""
    found = next(filter(None, map(_in_the_network, NETWORKS)))
    first, *_ = found.values()
    share = first["n_attackers"][0] / first["n_clients"]
    rules = sorted((rule["rule"] for rule in first["rules"]), key=lambda rule: -_doses(first, rule)[1])
    figure = new_figure(10, 4.6)
    title = f"{first['task']}: how much attack there is per honest step, in one round"
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", weight="bold")
    axes = figure.subplots()
    axes.axvline(share, color=MUTED, lw=1, ls=(0, (4, 2)))
    axes.text(share, len(rules) - 0.45, " attackers' share", color=MUTED, fontsize=8, va="center")
    for number, (n_rounds, probe) in enumerate(found.items()):
        low, middle, high = np.array([_doses(probe, rule) for rule in rules]).T
        heights = np.arange(len(rules)) + 0.24 * (number - (len(found) - 1) / 2) * -1
        colour = (BENIGN, "#7d3c98", MALICIOUS)[number]
        axes.hlines(heights, low, high, color=colour, lw=1, alpha=0.6)
        axes.plot(middle, heights, "o", color=colour, ms=5, label=_when(n_rounds))
    axes.set_yticks(range(len(rules)), [_short(rule) for rule in rules])
    axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    axes.set_xlabel("dose: median of five draws of clients, and the range of all five")
    with_grid(axes)
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    return figure


def _when(n_rounds: int) -> str:
    """Return when a round was probed.

    >>> _when(0), _when(30)
    ('at the start', 'after 30 rounds')
    """
    return f"after {n_rounds} rounds" if n_rounds else "at the start"


def _doses(probe: dict[str, Any], rule: str) -> tuple[float, float, float]:
    """Return the least, the median and the largest dose of a rule over the draws."""
    (draws,) = [one["draws"] for one in probe["rules"] if one["rule"] == rule]
    doses = [one["dose"] for one in draws]
    return min(doses), float(np.median(doses)), max(doses)


def _dose_and_gain(probe: dict[str, Any], rule: str) -> str:
    low, middle, high = _doses(probe, rule)
    (draws,) = [one["draws"] for one in probe["rules"] if one["rule"] == rule]
    gain = np.mean([one["gain"] for one in draws])
    return f"{middle:.3f} [{low:.2f}, {high:.2f}], {gain:.2f}"


def _short(rule: str) -> str:
    """Return a rule's name, with the settings that tell masks apart.

    >>> _short("invariant(tau=0.6, alpha=0.25, strict=False)")
    'invariant, tau 0.6, alpha 0.25'
    """
    name, _, settings = rule.partition("(")
    told = [
        one.replace("=", " ") for one in settings.rstrip(")").split(", ") if one.startswith(("tau", "alpha"))
    ]
    return ", ".join([name, *told]) if "tau" in settings else name


def _in_the_network(task: str) -> dict[int, dict[str, Any]]:
    """Return the probes of a task, by how many rounds of plain averaging came before."""
    own = [one for one in probes() if one["task"] == task]
    by_start = {int(one["start"].removeprefix("AfterRounds(n_rounds=").rstrip(")")): one for one in own}
    return dict(sorted(by_start.items()))


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
    for probe in (one for one in probes() if one["task"] not in NETWORKS):
        task, known = (
            probe["task"],
            [one for one in probe["rules"] if (probe["task"], one["rule"]) in trained],
        )
        if len(known) < 3:  # two have a rank correlation of 1 or -1 by themselves
            continue
        leaks = [sum(draw["leak"] for draw in one["draws"]) for one in known]
        found = _rank_correlation(leaks, [np.mean(trained[task, one["rule"]]) for one in known])
        starts[probe["start"] if probe["start"] in starts else "WarmStart"][task] = f"{found:.2f}"
        n_rules[task] = len(known)
    head = ["task", "rules", "from a warm start", "from a fresh network", "after 20 rounds"]
    rows = [head, ["---", *["---:"] * 4]]
    for task in (task for task in TASKS if task in n_rules):
        rows.append([task, str(n_rules[task]), *(column.get(task, "—") for column in starts.values())])
    return grid(rows)


def _rank_correlation(first: Any, second: Any) -> float:
    """Return Spearman's rank correlation, ties sharing their mean rank."""
    ranks = [
        [np.mean(np.flatnonzero(np.sort(values) == one)) for one in values] for values in (first, second)
    ]
    return float(np.corrcoef(ranks)[0, 1])


def _let(rule: dict[str, Any]) -> list[str]:
    """Return the mean leak and gain of a rule over its draws, and the median dose of those that have one."""
    of_draws = {name: [one[name] for one in rule["draws"]] for name in ("leak", "gain", "dose")}
    doses = [dose for dose in of_draws["dose"] if dose is not None]
    dose = f"{np.median(doses):.3f}" if doses else "–"
    return [f"{np.mean(of_draws['leak']):.3f}", f"{np.mean(of_draws['gain']):.2f}", dose]
