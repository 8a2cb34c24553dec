"""What came of the paper's claims: the main numbers with intervals, verdicts by task, and every claim."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.paper import CLAIMS
from holdfast.paper.judging import ENOUGH, rates_of
from holdfast.paper.network_table import NETWORKS
from holdfast.report.tables import claims_counted

from .grid import grid

Document = Mapping[str, Any]

TASKS = {
    "phishing-noniid": "phishing (stand-in)",
    "phishing": "phishing, dealt i.i.d.",
    "digits": "digits",
    "cifar10": "CIFAR-10",
    "twitter": "Twitter",
}
#: A space at which no line breaks.
NARROW = "&nbsp;"
#: How the numbers of a preliminary claim begin.
EARLY = re.compile(r"^(holds|does not hold) with (\d+) of \d+ seeds: ")
#: The rows of the main table: what it calls them, and the tables and rows they come from.
ROWS = {
    "nobody attacks, plain averaging": ("table1", "No attack"),
    "plain averaging": ("table1", "FedAvg"),
    "trimmed mean (one half of the paper's rule)": ("table1", "Trimmed mean"),
    "AND-mask (the other half)": ("table4", "AND-mask"),
    "**the paper's rule, settings of its table 3** (mask with ≥, as in its text)": ("table1", "Invariant"),
    "the paper's rule, settings of its released code": ("table1", "Invariant (released code: τ 0.6, α 0.45)"),
    "Krum, then trimmed mean": ("table1", "Krum, trimmed mean"),
    "**the watch in front of it**": ("watch", "Watch, Krum, trimmed mean"),
}
#: The tasks of the paper, which deals all of them unevenly; and tasks of ours.
ITS_TASKS: Mapping[str, tuple[str, ...]] = {
    "CIFAR-10, the paper's network": NETWORKS,
    "CIFAR-10, a small network": ("cifar10",),
    "Twitter": ("twitter",),
    "phishing (stand-in)": ("phishing-noniid",),
    "mean over its tasks": tuple(f"phishing-noniid + {task} + twitter" for task in ("cifar10", *NETWORKS)),
}
OURS: Mapping[str, tuple[str, ...]] = {
    "phishing (stand-in), dealt i.i.d.": ("phishing", "phishing + cifar10 + twitter"),
    "digits": ("digits", "phishing + digits"),
}
ITS = tuple(task for tasks in ITS_TASKS.values() for task in tasks)
#: How a task is told from the others of its cell.
PROTOCOLS = {
    "cifar10-resnet18": "its protocol",
    "cifar10-released": "its release",
    "cifar10-resnet18-warm": "warm start",
}


def main_text(found: Document) -> str:
    """Return the main table: accuracy / attack success with its 95 % interval after the last round, then over
    the last ten, then what is printed.
    """
    cells = {
        (one["name"], cell["row"], cell["task"]): cell
        for one in found["experiments"]
        for cell in one["cells"]
    }
    lines = [["", *TASKS.values()], ["---"] * (1 + len(TASKS))]
    for title, (table, row) in ROWS.items():
        lines.append([title, *(_cell(cells.get((table, row, task))) for task in TASKS)])
    return grid(lines)


def _cell(cell: Document | None) -> str:
    if cell is None:
        return ""
    printed = cell["printed"] and not cell["stands_in_for"]
    paper = f"<br>*paper:{NARROW}{_rates(cell['printed'])}*" if printed else ""
    if not cell["measured"]:
        return f"not measured{paper}"
    few = f"<br>*preliminary:{NARROW}{_seeds(cell['n_seeds'])}*" if cell["n_seeds"] < ENOUGH else ""
    return f"{_last(cell)}<br>ten:{NARROW}{_last(cell, 'last10_')}{few}{paper}"


def _last(cell: Document, prefix: str = "") -> str:
    """Return accuracy / attack success with its interval, after the last round or over the last ten."""
    accuracy, success = (cell["measured"][f"{prefix}{rate}"] for rate in ("accuracy", "attack_success"))
    rates = _rates({"accuracy": accuracy["mean"], "attack_success": success["mean"]})
    return f"{rates}{NARROW}{_interval(success)}" if cell["n_seeds"] >= ENOUGH else rates


def _rates(rates: Mapping[str, float]) -> str:
    return f"{_share(rates['accuracy'], 3)}{NARROW}/{NARROW}{_share(rates['attack_success'], 2)}"


def _interval(spread: Document) -> str:
    low, high = spread["interval"]
    return f"[{_share(low, 2)},{NARROW}{_share(high, 2)}]"


def _share(number: float, digits: int) -> str:
    return f"{number:.{digits}f}".removeprefix("0")


def _seeds(count: int) -> str:
    return f"{count}{NARROW}seed{'s' * (count != 1)}"


def last_ten_text(found: Document, task: str = "cifar10") -> str:
    """Return accuracy / attack success after the last round of a task, and as means over its last ten."""
    lines = [["", "last round", "mean of the last ten", "seeds"], ["---", *["---:"] * 3]]
    shown = {
        f"{cell['row']}{', from a warm start' if one['name'] == 'warm_start' else ''}": cell
        for one in found["experiments"]
        for cell in one["cells"]
        if one["name"] in ("table1", "table4", "warm_start") and cell["task"] == task and cell["measured"]
    }
    for title, cell in shown.items():
        lines.append([title, _last(cell), _last(cell, "last10_"), str(cell["n_seeds"])])
    return grid(lines)


def last_ten_of_all_text(found: Document) -> str:
    """Return accuracy / attack success over the last ten rounds: tables 1 and 4, on every task."""
    cells: dict[str, dict[str, Document]] = {}
    for one in found["experiments"]:
        if one["name"] in ("table1", "table4"):
            for cell in one["cells"]:
                cells.setdefault(cell["row"], {})[cell["task"]] = cell
    lines = [["", *TASKS.values()], ["---"] * (1 + len(TASKS))]
    for row, by_task in cells.items():
        measured = (by_task.get(task, {"measured": None}) for task in TASKS)
        lines.append([row, *(_last(cell, "last10_") if cell["measured"] else "–" for cell in measured)])
    return grid(lines)


def verdicts_text(found: Document) -> str:
    """Return the statements of the paper itself, with the verdict on each task."""
    by_claim: dict[str, list[Document]] = {}
    for claim in found["claims"]:
        if not claim["is_ours"]:
            by_claim.setdefault(claim["id"], []).append(claim)
    columns = ITS_TASKS | OURS
    lines = [["statement", *columns], ["---"] * (1 + len(columns))]
    for own in by_claim.values():
        cells = ([one for one in own if one["task"] in tasks] for tasks in columns.values())
        lines.append([f"{own[0]['text']} ({own[0]['source']})", *map(_verdicts, cells)])
    return grid(lines)


def _verdicts(claims: Iterable[Document]) -> str:
    """Return the verdicts of a cell; of several, each with its task."""
    claims = list(claims)
    if len(claims) < 2:
        return "".join(map(_verdict, claims))
    return "<br>".join(f"{_protocol(one['task'])}: {_verdict(one)}" for one in claims)


def _protocol(task: str) -> str:
    """Return how a task of a cell is told from the others in it."""
    parts = task.split(" + ")
    network = next((PROTOCOLS[part] for part in parts if part in PROTOCOLS), None)
    return network or ("small network" if "cifar10" in parts else parts[0] if len(parts) == 1 else "mean")


def _verdict(claim: Document) -> str:
    """Return the verdict; of a preliminary one, what it would be and with how many seeds."""
    early = EARLY.match(claim["numbers"])
    if claim["verdict"] == "preliminary" and early:
        return f"*preliminary ({_seeds(int(early[2]))}):* {early[1]}"
    return {"holds": "**holds**", "not measured": "–"}.get(claim["verdict"], str(claim["verdict"]))


def counted_text(found: Document) -> str:
    """Return how many claims hold, the paper's own apart from ours, and its tasks apart from digits."""
    lines = []
    for ours, title in ((False, "The paper's own statements"), (True, "Our checks of the numbers it prints")):
        claims = [claim for claim in found["claims"] if claim["is_ours"] is ours]
        groups = ([claim for claim in claims if (claim["task"] in ITS) is its] for its in (True, False))
        counts = "on its tasks {}; on digits and on phishing dealt i.i.d. {}".format(
            *map(claims_counted, groups)
        )
        lines.append(f"- **{title}:** {counts}.\n")
    return "".join(lines)


def counted_by_task_text(found: Document) -> str:
    """Return how many claims hold and how many do not, the paper's own apart from ours, by task."""
    head = ["one claim on one task each", "the paper's own statements", "our checks of its numbers"]
    lines = [head, ["---"] * len(head)]
    for title, tasks in {**ITS_TASKS, "**all of its tasks**": ITS, **OURS}.items():
        own = [claim for claim in found["claims"] if claim["task"] in tasks]
        parts = ([claim for claim in own if claim["is_ours"] is ours] for ours in (False, True))
        lines.append([title, *(claims_counted(part) for part in parts)])
    return grid(lines)


def claims_text(found: Document) -> str:
    """Return every measured claim, and by task its seeds, its verdict, and its numbers with intervals."""
    cells = {
        (one["name"], cell["row"], cell["task"]): cell
        for one in found["experiments"]
        for cell in one["cells"]
    }
    named = {claim.id: claim for claim in CLAIMS}
    by_claim: dict[str, list[str]] = {}
    for one in found["claims"]:
        if one["verdict"] != "not measured":
            used = [
                (name, experiment, cells[experiment, row, task])
                for task in one["task"].split(" + ")
                for name, (experiment, row) in named[one["id"]].cells_on(task).items()
            ]
            line = f"- {one['task']}, {_counts(one, used)}: {_verdict(one)}. {_with_intervals(one, used)}"
            by_claim.setdefault(f"**{one['text']}** ({one['source']})", []).append(line)
    return "\n".join("\n".join([text, "", *lines, ""]) for text, lines in by_claim.items())


def _counts(claim: Document, used: Iterable[tuple[str, str, Document]]) -> str:
    """Return with how many seeds the cells of a claim were measured, or its study."""
    early = EARLY.match(claim["numbers"])
    counts = sorted({cell["n_seeds"] for *_, cell in used}) or [int(early[2]) if early else ENOUGH]
    return _seeds(counts[0]) if len(counts) == 1 else f"{counts[0]} to {_seeds(counts[-1])}"


def _with_intervals(claim: Document, used: Iterable[tuple[str, str, Document]]) -> str:
    """Return the numbers of a claim, with the 95 % interval behind each attack success that it names."""
    text = EARLY.sub("", claim["numbers"])
    for name, experiment, cell in used:
        _, success = rates_of(experiment, cell)
        if success["interval"]:
            low, high = (f"{100 * end:.0f}" for end in success["interval"])
            shown = rf"(?<![\w,] )({re.escape(name)} Acc [\d.]+%, ASR {100 * success['mean']:.1f}%)"
            text = re.sub(shown, rf"\1 [{low}, {high}]", text)
    return text


def missing_text(found: Document) -> str:
    """Return the claims that nothing is measured of yet, with the tasks."""
    tasks: dict[str, list[str]] = {}
    for one in found["claims"]:
        if one["verdict"] == "not measured":
            tasks.setdefault(f"{one['source']}: {one['text']}", []).append(one["task"])
    lines = [["claim", "not measured on"], ["---", "---"]]
    return grid([*lines, *([text, ", ".join(own)] for text, own in tasks.items())]) if tasks else "None.\n"
