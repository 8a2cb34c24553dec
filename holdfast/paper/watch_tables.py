"""Tables of the watch: what it keeps out, what attackers who know it can do, what it costs a minority."""

from dataclasses import replace

from .table import REAL, TASKS, Row, Table

__all__ = ["DEFENCES", "HIDING", "MINORITIES", "WATCH_TABLES"]

#: Tasks with an honest minority, whose examples have another form.
MINORITIES = ("digits-minority", "spambase-minority", "twitter-minority")

#: What attackers add to a backdoor to get past a defence, and what all defences are tried with.
HIDING = (
    "sleeper",
    "on-off",
    "in-turn",
    "ramp",
    "dilute",
    "decorrelate",
    "split",
    "rotate",
    "mask",
    "mimic",
    "whitewash",
    "collude",
    "adaptive",
    "neurotoxin",
    "replacement",
    "pgd",
    "constrain-and-scale",
)

#: A watch under which suspects have no say either, and one that changes nothing.
WARY, REPORTS = {"factions.mode": "wary"}, {"factions.mode": "report"}

#: Rules, and the watch in front of some.
DEFENCES = (
    Row("FedAvg", "fedavg"),
    Row("Trimmed mean", "trimmed_mean"),
    Row("Median", "median"),
    Row("RFA", "rfa"),
    Row("Krum", "krum"),
    Row("Multi-Krum", "multi_krum"),
    Row("Krum, trimmed mean", "krum_trimmed_mean"),
    Row("FLAME", "flame"),
    Row("Invariant", "invariant"),
    Row("Watch, FedAvg", "factions+fedavg"),
    Row("Watch, trimmed mean", "factions+trimmed_mean"),
    Row("Watch, invariant", "factions+invariant"),
    Row("Watch, Krum, trimmed mean", "factions+krum_trimmed_mean"),
    Row("Wary watch, Krum, trimmed mean", "factions+krum_trimmed_mean", settings=WARY),
    Row("Watch, FLAME", "factions+flame"),
)
WATCHED = tuple(row for row in DEFENCES if "+" in row.defence)

#: The tasks on which the distributed trigger is defined.
DISTRIBUTED = ("phishing", "digits", "cifar10", *REAL)


def _rows(attack: str, tasks: tuple[str, ...] | None = None) -> tuple[Row, ...]:
    names = ("fedavg", "trimmed_mean", "krum_trimmed_mean", "flame", "invariant")
    chosen = [row for row in DEFENCES if row.defence in names or row in WATCHED]
    return tuple(replace(row, attack=attack, tasks=tasks) for row in chosen)


WATCH_TABLES = (
    Table(
        "watch",
        "The watch beside the rules, under the edge case",
        "Watch: `factions()` with its defaults, chosen on seeds 10 to 14, in front of a rule. Its hearing is"
        " part of the rounds. None of it is in the paper.",
        (
            Row("No attack", "fedavg", share=0.0),
            Row("No attack: watch, trimmed mean", "factions+trimmed_mean", share=0.0),
            Row("No attack: watch, Krum, trimmed mean", "factions+krum_trimmed_mean", share=0.0),
            Row(
                "No attack: wary watch, Krum, trimmed mean",
                "factions+krum_trimmed_mean",
                settings=WARY,
                share=0.0,
            ),
            *_rows("edge-case"),
        ),
        tasks=(*TASKS, *REAL),
    ),
    Table(
        "watch_distributed",
        "The same under the distributed trigger",
        "Each attacker shows one part of four.",
        (Row("No attack", "fedavg", attack="distributed", share=0.0), *_rows("distributed")),
        tasks=DISTRIBUTED,
    ),
    Table(
        "hiding",
        "Attackers who know that somebody watches",
        "The edge case with one more part in its name. For every defence the worst case over all of these is"
        " the number that counts.",
        tuple(
            replace(row, label=f"{row.label}: {part}", attack=f"edge-case+{part}")
            for part in HIDING
            for row in (WATCHED if part == "whitewash" else DEFENCES)
        ),
        tasks=("phishing", "digits"),
    ),
    Table(
        "full_information",
        "Attackers who know everything",
        "They see all honest updates, and ask what the server would make of theirs, its watch and memory"
        " included. Nobody has that knowledge in a real federation: it is a bound.",
        tuple(
            replace(row, attack="edge-case+full-information")
            for row in DEFENCES
            if row.defence.endswith(("krum_trimmed_mean", "invariant", "flame"))
        ),
        tasks=("digits",),
    ),
    Table(
        "minorities",
        "Honest minorities",
        "A tenth of the clients holds examples of another form, with their correct labels.",
        (
            Row("No attack", "fedavg", share=0.0),
            Row("No attack: trimmed mean", "trimmed_mean", share=0.0),
            Row("No attack: invariant", "invariant", share=0.0),
            Row("No attack: watch, FedAvg", "factions+fedavg", share=0.0),
            Row("No attack: wary watch, FedAvg", "factions+fedavg", settings=WARY, share=0.0),
            Row("No attack: watch that reports, FedAvg", "factions+fedavg", settings=REPORTS, share=0.0),
            Row("FedAvg", "fedavg"),
            Row("Trimmed mean", "trimmed_mean"),
            Row("Watch, FedAvg", "factions+fedavg"),
            Row("Watch, trimmed mean", "factions+trimmed_mean"),
            Row("Watch, Krum, trimmed mean", "factions+krum_trimmed_mean"),
        ),
        tasks=MINORITIES,
    ),
)
