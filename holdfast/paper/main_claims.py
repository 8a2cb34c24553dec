"""The claims on tables 1 and 4, and on what the text makes of them, as checks on measured numbers.

"Low" is an ASR of at most .1; a rule "keeps Acc" within .03 of FedAvg under the same attack.
"""

from itertools import pairwise
from statistics import mean
from typing import Any

from .judging import Claim, Finding, Seen, said
from .table1 import DEFENCES

__all__ = ["MAIN_CLAIMS"]

LOW, KEPT, NOISE = 0.1, 0.03, 0.005

IMAGES = ("cifar10", "digits")
EVERYWHERE = ("cifar10", "digits", "phishing")
ABLATION = ("AND-mask", "Trimmed mean")
DISTANCES = ("Multi-Krum", "Multi-Krum (cosine)", "RFA", "SparseFed")
ORDERS = ("Krum", "Multi-Krum", "Multi-Krum (cosine)", "Trimmed mean", "Krum, trimmed mean", "RFA")
#: The paper's three tasks, and those that need no data from elsewhere.
ALL_TASKS = ("phishing + cifar10 + twitter", "phishing + digits")
BASELINES = tuple(row for row in DEFENCES if row not in ("FedAvg", "No attack", "Invariant"))


def _defends(seen: Seen, task: str) -> Finding:
    found = seen.rows("table1", ("FedAvg", "Invariant"), task)
    plain, ours = found.values()
    holds = plain.success >= 0.5 and ours.success <= LOW and ours.accuracy >= plain.accuracy - KEPT
    return Finding(holds, said(found))


def _halves(seen: Seen, task: str) -> Finding:
    plain, found = seen("table1", "FedAvg", task), seen.rows("table4", ("Invariant", *ABLATION), task)
    ours = found["Invariant"].success
    holds = all(
        found[row].success >= max(5 * ours, NOISE) and found[row].success >= plain.success - 0.3
        for row in ABLATION
    )
    return Finding(holds, said({"FedAvg": plain, **found}))


def _trimming(seen: Seen, task: str) -> Finding:
    plain = seen("table1", "FedAvg", task)
    found = seen.rows("table4", ("Trimmed mean", "AND-mask", "Mean-variance ratio"), task)
    found["Sign-SGD"] = seen("table1", "Sign-SGD", task)
    if seen.has("table1", "Median", task):  # which the paper has no row of
        found["Median"] = seen("table1", "Median", task)
    best = found["Trimmed mean"]
    rivals = [one.success for one in found.values() if one.accuracy >= plain.accuracy - KEPT]
    holds = best.accuracy >= plain.accuracy - 0.01 and best.success <= min(rivals, default=1.0)
    return Finding(holds, said({"FedAvg": plain, **found}))


def _distances(seen: Seen, task: str) -> Finding:
    plain, found = seen("table1", "FedAvg", task), seen.rows("table1", DISTANCES, task)
    holds = all(one.success >= plain.success for one in found.values())
    return Finding(holds, said({"FedAvg": plain, **found}))


def _krum(seen: Seen, task: str) -> Finding:
    found = seen.rows("table1", ("FedAvg", "Krum"), task)
    return Finding(found["Krum"].accuracy <= found["FedAvg"].accuracy / 2, said(found))


def _costly(seen: Seen, task: str) -> Finding:
    plain = seen("table1", "FedAvg", task)
    found = {
        "Sign-SGD": seen("table1", "Sign-SGD", task),
        "Mean-variance ratio": seen("table4", "Mean-variance ratio", task),
    }
    holds = all(one.success <= LOW and one.accuracy <= plain.accuracy - 0.1 for one in found.values())
    return Finding(holds, said({"FedAvg": plain, **found}))


def _noise(seen: Seen, task: str) -> Finding:
    found = seen.rows("table1", ("FedAvg", "Weak-DP"), task)
    plain, noisy = found.values()
    holds = noisy.accuracy < plain.accuracy - 0.15 and noisy.success >= plain.success
    return Finding(holds, said(found))


def _noise_on_text(seen: Seen, task: str) -> Finding:
    found = seen.rows("table1", ("FedAvg", "Weak-DP"), task)
    return Finding(found["Weak-DP"].success < found["FedAvg"].success, said(found))


def _between(seen: Seen, task: str) -> Finding:
    found = seen.rows("table1", ("Invariant", "RLR", "FedAvg"), task)
    return Finding(all(low.success <= high.success for low, high in pairwise(found.values())), said(found))


def _fltrust(seen: Seen, task: str) -> Finding:
    found = seen("table1", "FLTrust", task)
    return Finding(0.3 <= found.success <= 0.6, f"FLTrust {found}")


def _flip(seen: Seen, task: str) -> Finding:
    plain, found = seen("table1", "FedAvg", task), seen.rows("table1", BASELINES, task)
    useful = {row: one for row, one in found.items() if one.accuracy >= plain.accuracy - KEPT}
    holds = "FLIP" in useful and useful["FLIP"].success <= min(one.success for one in useful.values())
    return Finding(holds, said({"FedAvg": plain, "FLIP": found["FLIP"], **useful}))


def _text_lowest(seen: Seen, task: str) -> Finding:
    rows = [row for row in DEFENCES if row != "FLIP"]
    found = seen.rows("table1", rows, task)
    honest, ours = found.pop("No attack"), found.pop("Invariant")
    second = min(found, key=lambda row: found[row].success)
    holds = found[second].success > ours.success > honest.success + 0.05
    return Finding(holds, said({"Invariant": ours, "No attack": honest, second: found[second]}))


def _text_worse(seen: Seen, task: str) -> Finding:
    plain, found = seen("table1", "FedAvg", task), seen.rows("table1", ORDERS, task)
    return Finding(
        all(one.success > plain.success for one in found.values()), said({"FedAvg": plain, **found})
    )


def _reaches_zero(row: str) -> Any:
    def check(seen: Seen, task: str) -> Finding:
        found = seen("table1", row, task)
        return Finding(found.success <= 0.01, f"{row} {found}")

    return check


def _nobody_else(seen: Seen, task: str) -> Finding:
    rows = [row for row in DEFENCES if row not in ("FLIP", "Invariant", "No attack")]
    found = seen.rows("table1", rows, task)
    safe = {row: one for row, one in found.items() if one.success <= 0.01}
    least = min(found, key=lambda row: found[row].success)
    return Finding(not safe, said(safe) if safe else f"least: {least} {found[least]}")


def _saturated(seen: Seen, task: str) -> Finding:
    found = seen.rows("table1", [row for row in DEFENCES if row != "FLIP"], task)
    worst = min(found, key=lambda row: found[row].accuracy)
    return Finding(found[worst].accuracy >= 0.99, f"lowest: {worst} {found[worst]}")


def _drop(seen: Seen, tasks: str) -> Finding:
    pairs = [seen.rows("table1", ("FedAvg", "Invariant"), task) for task in tasks.split(" + ")]
    drop = mean(pair["FedAvg"].success - pair["Invariant"].success for pair in pairs)
    return Finding(drop >= 0.616 - 0.05, f"mean drop of ASR {drop:.3f}")


def _cost(seen: Seen, tasks: str) -> Finding:
    pairs = [seen.rows("table1", ("FedAvg", "Invariant"), task) for task in tasks.split(" + ")]
    cost = mean(pair["FedAvg"].accuracy - pair["Invariant"].accuracy for pair in pairs)
    return Finding(cost <= 0.012 + 0.01, f"mean drop of Acc {cost:.3f}")


def _excess(seen: Seen, task: str) -> Finding:
    found = seen.rows("table1", ("FedAvg", "Invariant", "No attack"), task)
    plain, ours, honest = (one.success for one in found.values())
    share = (plain - ours) / (plain - honest) if plain > honest else 0.0
    return Finding(share >= 0.417 - 0.1, f"{share:.1%} of the excess; {said(found)}")


def _honest_cost(seen: Seen, task: str) -> Finding:
    found = {"FedAvg": seen("table1", "No attack", task), "Invariant": seen("table5", "No attack", task)}
    cost = found["FedAvg"].accuracy - found["Invariant"].accuracy
    return Finding(cost <= 0.05, f"{cost:.3f}; {said(found)}")


MAIN_CLAIMS = (
    Claim(
        "claim-1",
        "FedAvg has an ASR of .5 or more, the invariant aggregator at most .1, at .03 less Acc at most.",
        "§4.1",
        EVERYWHERE,
        _defends,
    ),
    Claim(
        "claim-2",
        "Neither half suffices: AND-mask and trimmed mean each have five times its ASR or more,"
        " at most .3 below FedAvg's.",
        "§4.2",
        EVERYWHERE,
        _halves,
    ),
    Claim(
        "claim-3a",
        "Of the simple coordinate-wise rules that keep Acc, trimmed mean has the lowest ASR, at no cost.",
        "§4.3",
        IMAGES,
        _trimming,
    ),
    Claim(
        "claim-3b",
        "Rules of distances (Multi-Krum, by cosine too, RFA, SparseFed) do not lower the ASR below FedAvg's.",
        "§4.3",
        IMAGES,
        _distances,
    ),
    Claim(
        "claim-4a",
        "Krum's Acc collapses on uneven shards: below half of FedAvg's.",
        "§4.4",
        ("cifar10",),
        _krum,
    ),
    Claim(
        "claim-4b",
        "Sign-SGD and the mean-variance ratio buy a low ASR with .1 of Acc or more.",
        "§4.4",
        IMAGES,
        _costly,
    ),
    Claim(
        "claim-5a", "Weak-DP costs more than .15 of Acc and does not lower the ASR.", "§4.5", IMAGES, _noise
    ),
    Claim("claim-5b", "On Twitter, Weak-DP lowers the ASR somewhat.", "§4.5", ("twitter",), _noise_on_text),
    Claim(
        "claim-6a",
        "The ASR of RLR is between those of FedAvg and the invariant aggregator.",
        "§4.6",
        IMAGES,
        _between,
    ),
    Claim("claim-6b", "The ASR of FLTrust is between .3 and .6.", "§4.6", IMAGES, _fltrust),
    Claim(
        "claim-6c", "Of the published rules that keep Acc, FLIP has the lowest ASR.", "§4.6", IMAGES, _flip
    ),
    Claim(
        "claim-7a",
        "On Twitter the invariant aggregator has the lowest ASR, clearly above that without an attack.",
        "§4.7",
        ("twitter",),
        _text_lowest,
    ),
    Claim(
        "claim-7b",
        "On Twitter every rule of order or distance is worse than FedAvg.",
        "§4.7",
        ("twitter",),
        _text_worse,
    ),
    Claim(
        "claim-8a",
        "On phishing the invariant aggregator reaches an ASR of 0.",
        "§4.8",
        ("phishing",),
        _reaches_zero("Invariant"),
    ),
    Claim("claim-8b", "On phishing FLIP reaches an ASR of 0.", "§4.8", ("phishing",), _reaches_zero("FLIP")),
    Claim("claim-8c", "On phishing no other rule does.", "§4.8", ("phishing",), _nobody_else),
    Claim(
        "claim-8d",
        "On phishing Acc is saturated everywhere: at least .99.",
        "§4.8",
        ("phishing",),
        _saturated,
    ),
    Claim(
        "headline-1",
        "On average the ASR is 61.6 points below FedAvg's (checked: at least 56.6).",
        "§3",
        ALL_TASKS,
        _drop,
    ),
    Claim(
        "headline-2",
        "On average Acc is 1.2 points below FedAvg's (checked: at most 2.2).",
        "§3",
        ALL_TASKS,
        _cost,
    ),
    Claim(
        "headline-3",
        "On Twitter 41.7 % of what the attack adds to the ASR are gone (checked: at least 31.7 %).",
        "§3",
        ("twitter",),
        _excess,
    ),
    Claim(
        "headline-4",
        "Without an attack the defence costs 3.3 to 4.0 points of Acc (checked: at most 5).",
        "§5",
        ("cifar10", "digits", "twitter", "phishing"),
        _honest_cost,
    ),
)
