"""What came of the paper's claims: the main numbers with intervals, verdicts by task, and every claim."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.paper import CLAIMS
from holdfast.report.tables import claims_counted

from .grid import grid

Document = Mapping[str, Any]

TASKS = {"phishing": "phishing (stand-in)", "digits": "digits", "cifar10": "CIFAR-10", "twitter": "Twitter"}
#: A space at which no line breaks.
NARROW = "&nbsp;"
RATES = ("accuracy", "attack_success")
#: How the numbers of a preliminary claim begin.
EARLY = re.compile(r"^(holds|does not hold) with (\d+) of \d+ seeds: ")
#: With fewer seeds than this, a number is preliminary.
ENOUGH = 3
#: The rows of the main table: what it calls them, and the tables and rows they come from.
ROWS = {
    "nobody attacks, plain averaging": ("table1", "No attack"),
    "plain averaging": ("table1", "FedAvg"),
    "trimmed mean (one half of the paper's rule)": ("table1", "Trimmed mean"),
    "AND-mask (the other half)": ("table4", "AND-mask"),
    "**the paper's rule, as printed**": ("table1", "Invariant"),
    "the paper's rule, as in its released code": ("table1", "Invariant (released code: τ 0.6, α 0.45)"),
    "Krum, then trimmed mean": ("table1", "Krum, trimmed mean"),
    "**the watch in front of it**": ("watch", "Watch, Krum, trimmed mean"),
}
#: Claims that are checks of ours, and stand among those that the paper makes: its table 1 in one line.
OURS = ("claim-1",)


def main_text(found: Document) -> str:
    """Return the main table: accuracy / attack success with its 95 % interval, and below what is printed."""
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
    accuracy, success = cell["measured"]["accuracy"], cell["measured"]["attack_success"]
    own = _rates({"accuracy": accuracy["mean"], "attack_success": success["mean"]})
    few = (
        f"*preliminary:{NARROW}{_seeds(cell['n_seeds'])}*" if cell["n_seeds"] < ENOUGH else _interval(success)
    )
    return f"{own}<br>{few}{paper}"


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
        last, ten = (
            _rates({rate: cell["measured"][f"{prefix}{rate}"]["mean"] for rate in RATES})
            for prefix in ("", "last10_")
        )
        lines.append([title, last, ten, str(cell["n_seeds"])])
    return grid(lines)


def verdicts_text(found: Document) -> str:
    """Return what the paper itself says, with the verdict on each task."""
    by_claim: dict[str, list[Document]] = {}
    for claim in found["claims"]:
        if claim["id"] in OURS or not claim["source"].startswith("our check"):
            by_claim.setdefault(claim["id"], []).append(claim)
    lines = [["claim", *TASKS.values(), "mean over tasks"], ["---"] * (2 + len(TASKS))]
    for own in by_claim.values():
        by_task = {one["task"]: _verdict(one) for one in own}
        joined = [f"{task}: {verdict}" for task, verdict in by_task.items() if "+" in task]
        cells = (by_task.get(task, "") for task in TASKS)
        lines.append([f"{own[0]['text']} ({own[0]['source']})", *cells, "<br>".join(joined)])
    return grid(lines)


def _verdict(claim: Document) -> str:
    """Return the verdict; of a preliminary one, what it would be and with how many seeds."""
    early = EARLY.match(claim["numbers"])
    if claim["verdict"] == "preliminary" and early:
        return f"*preliminary ({_seeds(int(early[2]))}):* {early[1]}"
    return {"holds": "**holds**", "not measured": "–"}.get(claim["verdict"], str(claim["verdict"]))


def counted_text(found: Document) -> str:
    """Return how many claims hold, and how many do not."""
    return (
        f"Of {len(found['claims'])} checks, one claim on one task each: {claims_counted(found['claims'])}.\n"
    )


def claims_text(found: Document) -> str:
    """Return every measured claim, and by task its seeds, its verdict, and its numbers with intervals."""
    cells = {
        (one["name"], cell["row"], cell["task"]): cell
        for one in found["experiments"]
        for cell in one["cells"]
    }
    named = {claim.id: claim.cells for claim in CLAIMS}
    by_claim: dict[str, list[str]] = {}
    for one in found["claims"]:
        if one["verdict"] != "not measured":
            used = [
                (name, cells[experiment, row, task])
                for task in one["task"].split(" + ")
                for name, (experiment, row) in named[one["id"]].items()
            ]
            line = f"- {one['task']}, {_counts(used)}: {_verdict(one)}. {_with_intervals(one, used)}"
            by_claim.setdefault(f"**{one['text']}** ({one['source']})", []).append(line)
    return "\n".join("\n".join([text, "", *lines, ""]) for text, lines in by_claim.items())


def _counts(used: Iterable[tuple[str, Document]]) -> str:
    """Return with how many seeds the cells of a claim were measured; a study has three."""
    counts = sorted({cell["n_seeds"] for _, cell in used}) or [ENOUGH]
    return _seeds(counts[0]) if len(counts) == 1 else f"{counts[0]} to {_seeds(counts[-1])}"


def _with_intervals(claim: Document, used: Iterable[tuple[str, Document]]) -> str:
    """Return the numbers of a claim, with the 95 % interval behind each attack success that it names."""
    text = EARLY.sub("", claim["numbers"])
    for name, cell in used:
        success = cell["measured"]["attack_success"]
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
