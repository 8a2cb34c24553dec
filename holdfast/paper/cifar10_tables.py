"""What the paper measured on CIFAR-10 alone: tables 6 to 10 and figure 6. Digits stand in for it here."""

from functools import partial

from ..lab.data.split import dirichlet, everything, iid
from ..lab.scenario import Run
from .table import LIKE_CIFAR10, Row, Table

__all__ = ["ALPHAS", "CIFAR10_TABLES", "PER_ROUND", "TABLE8", "TABLE9", "TAUS"]

_Table = partial(Table, tasks=LIKE_CIFAR10, stands_in=True)

NOT_ON_PHISHING = "Digits stand in for CIFAR-10; the paper does not have this on phishing."

TABLE6 = _Table(
    "table6",
    "Table 6: attackers who collude",
    NOT_ON_PHISHING,
    (
        Row("Invariant", attack="edge-case+collude"),
        Row("FLTrust", "fltrust", "edge-case+collude"),
        Row("RFA", "rfa", "edge-case+collude"),
        Row("FLIP", "flip", "edge-case+collude"),
    ),
)

TABLE7 = _Table(
    "table7",
    "Table 7: attackers who adapt",
    f"{NOT_ON_PHISHING} Attackers read a mask off the last global update; where the defence has none, they"
    " make one of their own honest updates.",
    (
        Row("Invariant", attack="edge-case+adaptive"),
        Row("FLTrust", "fltrust", "edge-case+adaptive-simulated"),
        Row("RFA", "rfa", "edge-case+adaptive-simulated"),
        Row("FLIP", "flip", "edge-case+adaptive-simulated"),
    ),
)

TABLE8 = _Table(
    "table8",
    "Table 8: share of malicious clients",
    f"{NOT_ON_PHISHING} Shares of clients are rounded up. 0 % is the row without an attack of table 5, where"
    " the paper has other numbers (.685).",
    tuple(Row(f"{percent} %", share=percent / 100, x=percent / 100) for percent in (0, 5, 10, 15, 20)),
)


def _trigger(size: str, task: str, height: int, width: int, gap: int) -> Row:
    """Return the row of a trigger of four blocks of pixels, which has another size on every task."""
    blocks = {"height": height, "width": width, "gap": gap}
    settings = {f"distributed_pixels.{name}": value for name, value in blocks.items()}
    return Row(size, attack="distributed", tasks=(task,), settings=settings)


TABLE9 = _Table(
    "table9",
    "Table 9: size of the trigger",
    "Digits stand in for CIFAR-10: on their 8 by 8 pixels the four blocks have one, two and four pixels each,"
    " near the corners, and x4 is the distributed attack of table 5; on CIFAR-10 it is x1, with blocks of six"
    " pixels. Phishing has no pixels.",
    (
        _trigger("x1", "digits", 1, 1, 6),
        _trigger("x1", "cifar10", 1, 6, 3),
        _trigger("x2", "digits", 1, 2, 4),
        _trigger("x2", "cifar10", 2, 6, 3),
        _trigger("x4", "digits", 2, 2, 4),
        _trigger("x4", "cifar10", 2, 12, 3),
    ),
)


def _everything(run: Run, scale: str) -> Run | None:
    """Return everything for everybody, seen for as long as an equal share; in full at the paper's scale."""
    if scale == "paper":
        return run.replace(split=everything)
    if run.task.name == "cifar10":  # of which twenty copies do not fit into memory
        return None
    return run.replace(split=everything, epochs=run.task.epochs / run.task.n_clients)


def _uneven(run: Run, scale: str, *, alpha: float) -> Run:
    # Of 26 digits that a client has on average, few draws give everybody ten at the lowest alpha.
    n_least = 5 if run.task.name == "digits" and alpha < 0.5 else 10
    return run.replace(split=partial(dirichlet, alpha=alpha, n_least=n_least))


TABLE10 = _Table(
    "table10",
    "Table 10: how examples are dealt",
    f"{NOT_ON_PHISHING} In the first row every client holds all examples. At the scales smoke and cpu it"
    " trains for as many steps as on its share, so that the rows do the same work, and CIFAR-10 is left out,"
    " of which twenty copies do not fit into memory. The paper's clients do a hundred times the work there."
    " Equal shares are not in the paper, which calls α = 1.0 i.i.d. Two classes cannot be dealt to 100"
    " clients at α = 0.2.",
    (
        Row("i.i.d. (everything)", change=_everything),
        Row("i.i.d. (equal shares)", change=lambda run, scale: run.replace(split=iid)),
        Row("Dirichlet, α 1.0", change=partial(_uneven, alpha=1.0)),
        Row("Dirichlet, α 0.5", change=partial(_uneven, alpha=0.5)),
        Row("Dirichlet, α 0.2", change=partial(_uneven, alpha=0.2), tasks=("digits", "cifar10")),
    ),
)

TAUS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
ALPHAS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
PER_ROUND = (5, 10, 15, 20, 25, 30)

NO_NUMBERS = f"{NOT_ON_PHISHING} It prints no numbers."

CIFAR10_TABLES = (
    TABLE6,
    TABLE7,
    TABLE8,
    TABLE9,
    TABLE10,
    _Table(
        "figure6a",
        "Figure 6a: τ",
        NO_NUMBERS,
        tuple(Row(f"τ = {tau}", settings={"invariant.tau": tau}, x=tau) for tau in TAUS),
        axis="τ, agreement of signs needed",
    ),
    _Table(
        "figure6b",
        "Figure 6b: α",
        NO_NUMBERS,
        tuple(
            Row(f"α = {alpha}", settings={"invariant.tau": 0.2, "invariant.alpha": alpha}, x=alpha)
            for alpha in ALPHAS
        ),
        axis="α, share trimmed at each end (τ = 0.2)",
    ),
    _Table(
        "figure6c",
        "Figure 6c: clients per round",
        NO_NUMBERS,
        tuple(Row(f"{count} clients", n_per_round=count, x=count) for count in PER_ROUND),
        axis="clients per round",
    ),
)
