"""What the README shows of the stored results: one table and one picture, made by `make docs`."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.paper.evidence import evidence
from holdfast.report.plotting import new_figure, save, without_frame

ROOT = Path(__file__).parent.parent
START, END = "<!-- front:start -->\n", "<!-- front:end -->\n"

#: The rows of the table: what the README calls them, and their row in the tables of the watch.
ROWS = {
    "no attack, plain averaging": "No attack",
    "plain averaging (`fedavg`)": "FedAvg",
    "the paper's rule (`invariant`)": "Invariant",
    "published alternative (`krum_trimmed_mean`)": "Krum, trimmed mean",
    "published alternative (`flame`)": "FLAME",
    "**watch + `krum_trimmed_mean`**": "Watch, Krum, trimmed mean",
    "**wary watch + `krum_trimmed_mean`**": "Wary watch, Krum, trimmed mean",
    "**watch + `flame`**": "Watch, FLAME",
}
COLUMNS = {
    "digits": "digits",
    "phishing (stand-in)": "phishing",
    "phishing-urls": "phishing-urls",
    "Spambase": "spambase",
    "Twitter": "twitter",
    "CIFAR-10": "cifar10",
}

#: The lines of the picture, from the top.
DRAWN = {
    "FedAvg": "plain averaging",
    "Invariant": "the paper's rule",
    "Krum, trimmed mean": "Krum, then\ntrimmed mean",
    "FLAME": "FLAME",
    "Watch, Krum, trimmed mean": "the watch,\nKrum, trimmed",
    "Wary watch, Krum, trimmed mean": "a wary watch,\nKrum, trimmed",
    "Watch, FLAME": "the watch,\nFLAME",
}
HUES = {
    "light": {"text": "#1f2328", "quiet": "#59636e", "rule": "#d1d9e0", "bad": "#bc4c00", "good": "#0969da"},
    "dark": {"text": "#f0f6fc", "quiet": "#9198a1", "rule": "#3d444d", "bad": "#f0883e", "good": "#4493f8"},
}

#: Of a defence that met fewer attacks, no worst case is shown.
LEAST = 12

Document = Mapping[str, Any]


def front_text(found: Document) -> str:
    """Return the README's table: attack success and, in brackets, accuracy, in percent."""
    tried = hidden(found, "digits")
    n_hidden = min(map(len, met_many(tried).values())) - 1
    worst = {row: max(attacks.values()) for row, attacks in met_many(tried).items()}
    known = {cell["row"]: cell for cell in cells_of(found, "full_information")}
    heads = ["", *COLUMNS, "digits, worst attack"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for title, row in ROWS.items():
        by_task = {cell["task"]: cell for cell in cells_of(found, "watch") if cell["row"] == row}
        own = [shown(by_task.get(task)) for task in COLUMNS.values()]
        most = worst.get(row)
        lines.append([title, *own, "" if row == "No attack" else "–" if most is None else _percent(most)])
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return table + (
        "\n*Attack success rate in percent (lower is better), accuracy in brackets. Means of seeds 0 to 2,"
        " except (1) or (2): of so many. A dash: not measured. A fifth of the clients attack, on Twitter a"
        " tenth. A wary watch silences suspects as well as expelled clients."
        f" Last column: the edge case, alone or with one of at least {n_hidden} ways to hide it.*"
        f"{_limit(known['Watch, Krum, trimmed mean'])}\n"
    )


def _limit(cell: Document) -> str:
    """Say how far attackers get who know everything; nothing, if that is not measured."""
    if not cell["measured"]:
        return ""
    bound = _percent(cell["measured"]["attack_success"]["mean"])
    return (
        " **Where it does not help:** attackers who see every honest update and can ask the server what it"
        f" would do succeed with {bound} % of the inputs behind the watch (digits,"
        f" {_seeds(cell['n_seeds'])})."
    )


def shown(cell: Document | None) -> str:
    """Return a cell: attack success, accuracy, and of how many seeds where these are fewer than three."""
    if cell is None or not cell["measured"]:
        return "–"
    success, accuracy = (_percent(cell["measured"][name]["mean"]) for name in ("attack_success", "accuracy"))
    few = f" ({cell['n_seeds']})" if cell["n_seeds"] < 3 else ""
    return f"{success} [{accuracy}]{few}"


def cells_of(found: Document, name: str) -> list[Document]:
    """Return the cells of a table."""
    (experiment,) = [one for one in found["experiments"] if one["name"] == name]
    return list(experiment["cells"])


def hidden(found: Document, task: str) -> dict[str, dict[str, float]]:
    """Return [defence][attack] the attack success on a task: the plain edge case, and with what hides it."""
    seen: dict[str, dict[str, float]] = {row: {} for row in DRAWN}
    for name in ("watch", "hiding"):
        for cell in cells_of(found, name):
            defence, _, part = cell["row"].partition(": ")
            if cell["measured"] and cell["task"] == task and cell["attack"] != "none" and defence in seen:
                seen[defence][part or "plain"] = cell["measured"]["attack_success"]["mean"]
    return seen


def met_many(tried: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """Keep the defences that met many attacks; of others, the worst attack says little."""
    return {row: attacks for row, attacks in tried.items() if len(attacks) >= LEAST}


def front_figure(found: Document, scheme: str) -> Any:
    """Return every attack on digits as a dot, one line per defence, for a light or a dark page."""
    hue = HUES[scheme]
    figure = new_figure(8.4, 0.75 * len(DRAWN))
    figure.patch.set_alpha(0.0)
    axes = figure.subplots()
    axes.patch.set_alpha(0.0)
    attacks_met = met_many(hidden(found, "digits"))
    for place, row in enumerate(reversed(DRAWN)):
        if row not in attacks_met:
            continue
        values = sorted(100 * value for value in attacks_met[row].values())
        colour = hue["good"] if "atch" in row else hue["bad"]
        heights = [place + 0.13 * (number % 3 - 1) for number in range(len(values))]
        axes.scatter(values, heights, s=38, color=colour, alpha=0.75, lw=0, zorder=3)
        side = {"ha": "left", "x": values[-1] + 2.2}
        axes.text(y=place, s=f"worst {values[-1]:.0f} %", va="center", fontsize=10, color=hue["text"], **side)
    (known,) = [
        one for one in cells_of(found, "full_information") if one["row"] == "Watch, Krum, trimmed mean"
    ]
    if known["measured"]:
        height = [*DRAWN][::-1].index(known["row"])
        success = 100 * known["measured"]["attack_success"]["mean"]
        axes.scatter([success], [height], s=46, facecolors="none", edgecolors=hue["good"], lw=1.6, zorder=3)
        told = f"knows everything:\n{success:.0f} % ({_seeds(known['n_seeds'])})"
        axes.text(success + 2.2, height, told, va="center", fontsize=9, color=hue["quiet"])
    axes.set_yticks(range(len(DRAWN)), [*DRAWN.values()][::-1], fontsize=11, color=hue["text"])
    axes.set_xticks(range(0, 101, 25), [f"{tick} %" for tick in range(0, 101, 25)], color=hue["quiet"])
    axes.set_xlim(-3, 122)
    axes.set_title(
        "How often the backdoor works: each dot is one attack on digits, mean of three seeds",
        fontsize=11, color=hue["text"], loc="left", x=-0.14,
    )  # fmt: skip
    axes.grid(axis="x", color=hue["rule"], lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    without_frame(axes, "left", "bottom")
    return figure


def filled(page: str, found: Document) -> str:
    """Return the README with its table as the results have it."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}{front_text(found)}{END}{after}"


def write_front(found: Document) -> None:
    """Write the table into the README, and draw the picture for light and dark pages."""
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8"), found), encoding="utf-8")
    for scheme in HUES:
        save(front_figure(found, scheme), ROOT / "docs" / "figures" / f"front-{scheme}.svg")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}"


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


if __name__ == "__main__":
    tables = evidence(["watch", "hiding", "full_information"], ROOT / "results")
    if "--check" in sys.argv:
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        sys.exit(
            0 if filled(text, tables) == text else "README.md differs from the stored results: make docs"
        )
    write_front(tables)
