"""The page on the paper's rule: settings beside those of the paper, and what holds under which conditions."""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.core import Bound
from holdfast.lab.choices import build_run
from holdfast.lab.scenario import Run
from holdfast.lab.tasks import TASKS, base_name
from holdfast.paper.network_table import PROTOCOL_TABLES, RELEASED_SETTINGS

from .grid import grid
from .network import HEADS

Document = Mapping[str, Any]

#: Table 3 of the paper, by its tasks; and what the code has in that place, released at commit b489505.
COLUMNS = (
    "optimiser", "rate", "batch", "local epochs", "rounds", "clients", "malicious", "per round", "τ", "α",
    "dealt",
)  # fmt: skip
PAPER = {
    "cifar10": ("SGD", "0.01", "64", "1", "300", "100", "20", "20", "0.2", "0.25", "Dirichlet (table 10)"),
    "twitter": ("Adam", "0.0001", "64", "0.1", "300", "100", "10", "15", "0.6", "0.25", "non-i.i.d."),
    "phishing": ("SGD", "0.1", "64", "1", "20", "100", "20", "20", "0.6", "0.25", "non-i.i.d."),
}
CODE = "https://github.com/Xiaoyang-Wang/InvariantAggregator/blob/b4895051885286cb9f5a3f0559b4488cb3857a66"
RELEASED = {
    "cifar10": ("CIFAR", "SGD, momentum 0.9", "0.01", "64", "1", "300", "100", "20", "Dirichlet, α = 0.5"),
    "twitter": ("twitter", "Adam", "0.0001", "64", "–", "500", "–", "–", "–"),
    "phishing": ("model360", "SGD, momentum 0.9", "0.001", "64", "–", "50", "–", "–", "–"),
}
TITLES = {"cifar10": "CIFAR-10", "twitter": "Twitter", "phishing": "phishing"}
#: The scales that are compared with the paper; smoke learns nothing.
SCALES = ("cpu", "paper")

#: Where the rule was measured, the rows of plain averaging and of the rule, and the task.
PRINTED, STRICT = "Invariant", RELEASED_SETTINGS
CONDITIONS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "phishing (stand-in), dealt by Dirichlet 0.5": ("table1", ("FedAvg", PRINTED, STRICT), "phishing-noniid"),
    "phishing (stand-in), dealt i.i.d.": ("table1", ("FedAvg", PRINTED, STRICT), "phishing"),
    "digits, a task of ours": ("table1", ("FedAvg", PRINTED, STRICT), "digits"),
    "Twitter": ("table1", ("FedAvg", PRINTED, STRICT), "twitter"),
    "CIFAR-10, a small network from scratch": ("table1", ("FedAvg", PRINTED, STRICT), "cifar10"),
    **{
        f"CIFAR-10, the paper's network: {head}": (table.name, ("FedAvg", PRINTED, STRICT), table.tasks[0])
        for table, head in zip(PROTOCOL_TABLES, HEADS, strict=True)
    },
}


def settings_text() -> str:
    """Return the settings of the paper, of its released code and of our tasks, as one table."""
    rows = [["", *COLUMNS], ["---"] * (1 + len(COLUMNS))]
    for base, title in TITLES.items():
        rows.append([f"**{title}**, the paper", *PAPER[base]])
        folder, *clients, dealt = RELEASED[base]
        link = f"[the released code]({CODE}/experiments/backdoor_{folder}/config.yaml)"
        rows.append([f"{title}, {link}", *clients, "20", "0.6", "0.45", dealt])
        rows += [row for task in _tasks(base) for row in _ours(task)]
    return grid(rows)


def _tasks(base: str) -> list[str]:
    """Return the tasks on the same examples, those with a minority aside."""
    return [name for name, task in TASKS.items() if base_name(name) == base and not task.minority]


def _ours(task: str) -> Iterator[list[str]]:
    """Yield the settings of a task at each scale; once where they are the same."""
    cells = {
        scale: _cells(build_run(task, attack="edge-case", defence="invariant", scale=scale))
        for scale in SCALES
    }
    same = len({tuple(own) for own in cells.values()}) == 1
    for scale, own in cells.items():
        if not same or scale == SCALES[0]:
            yield [f"`{task}`" if same else f"`{task}`, {scale}", *own]


def _cells(run: Run) -> list[str]:
    task, rule = run.task, dict(run.defence.aggregate.settings)
    train = dict(task.train.settings)
    momentum = f", momentum {train['momentum']:g}" if train.get("momentum") else ""
    optimiser = f"SGD{momentum}" if task.train.name.endswith("sgd") else task.train.name.capitalize()
    numbers = (train["lr"], task.batch_size, task.epochs, task.n_rounds, task.n_clients)
    numbers += (run.attack.n_malicious, task.n_per_round, rule["tau"], rule["alpha"])
    return [optimiser, *(f"{number:g}" for number in numbers), _dealt(task.split)]


def _dealt(split: Bound[Any]) -> str:
    alpha = dict(split.settings).get("alpha")
    return "i.i.d." if split.name == "iid" else f"Dirichlet, α = {alpha:g}"


def conditions_text(found: Document) -> str:
    """Return attack success and accuracy of plain averaging and of the rule, under each condition.

    >>> print(conditions_text({"experiments": []}).splitlines()[2])
    | phishing (stand-in), dealt by Dirichlet 0.5 | – | – | – |
    """
    cells = {
        (one["name"], cell["row"], cell["task"]): cell
        for one in found["experiments"]
        for cell in one["cells"]
    }
    rows = [["", "plain averaging", "printed settings", "released settings"], ["---", *["---:"] * 3]]
    for title, (experiment, names, task) in CONDITIONS.items():
        rows.append([title, *(_measured(cells.get((experiment, name, task))) for name in names)])
    return grid(rows)


def _measured(cell: Document | None) -> str:
    if cell is None or not cell["measured"]:
        return "–"
    success, accuracy = (cell["measured"][f"last10_{name}"] for name in ("attack_success", "accuracy"))
    interval = success["interval"]
    spread = " [{:.0f}, {:.0f}]".format(*(100 * end for end in interval)) if interval else ", one seed"
    return f"{100 * success['mean']:.0f} %{spread} (accuracy {100 * accuracy['mean']:.0f} %)"
