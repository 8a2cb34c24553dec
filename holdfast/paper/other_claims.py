"""The claims on tables 5 to 10, on figure 6 and on the studies, as checks on measured numbers."""

from itertools import pairwise

from .cifar10_tables import ALPHAS, TABLE8, TABLE9, TAUS
from .judging import Claim, cells_of
from .main_claims import EVERYWHERE, IMAGES, LOW, NOISE, NUMERIC, Found
from .main_tables import TABLE5
from .network_table import NETWORKS

__all__ = ["OTHER_CLAIMS"]

STRATEGIES = tuple(row.label for row in TABLE5.rows if row.attack.startswith("edge-case+"))
SHARES = tuple(row.label for row in TABLE8.rows)
TRIGGERS = tuple(dict.fromkeys(row.label for row in TABLE9.rows))
DIRICHLET = ("Dirichlet, α 1.0", "Dirichlet, α 0.5", "Dirichlet, α 0.2")


def _stays_low(found: Found) -> bool:
    return all(one.success <= 0.005 for one in found.values())


def _never_rises(found: Found) -> bool:
    return all(after.accuracy <= before.accuracy + NOISE for before, after in pairwise(found.values()))


def _is_wide(found: Found) -> bool:
    """Return whether four neighbouring values of a setting have a low ASR."""
    return "low" * 4 in "".join("low" if one.success <= LOW else " " for one in found.values())


def _success(found: Found) -> str:
    return "ASR at " + ", ".join(f"{name}: {one.success:.1%}" for name, one in found.items())


OTHER_CLAIMS = (
    Claim(
        "claim-9a",
        "A distributed trigger has no higher ASR than the edge case.",
        "our check of Table 5",
        NUMERIC,
        cells_of("table5", "Edge-case", "Distributed (DBA)"),
        lambda found: found["Distributed (DBA)"].success <= found["Edge-case"].success + NOISE,
    ),
    Claim(
        "claim-9b",
        "Colluding, adapting and both raise the ASR by at most 5 points.",
        "Appendix D.7, Table 5",
        (*NUMERIC, "twitter"),
        cells_of("table5", "Edge-case", *STRATEGIES),
        lambda found: all(one.success <= found["Edge-case"].success + 0.05 for one in found.values()),
    ),
    Claim(
        "claim-9c",
        "The ASR is highest for both, lower for colluding, lowest for adapting.",
        "our check of Table 5",
        IMAGES,
        cells_of("table5", "Edge-case, collude, adaptive", "Edge-case, collude", "Edge-case, adaptive"),
        lambda found: all(high.success > low.success for high, low in pairwise(found.values())),
    ),
    Claim(
        "claim-10a",
        "The ASR is at most 0.5 % for shares of attackers from 0 to 20 %.",
        "our check of Table 8",
        EVERYWHERE,
        cells_of("table8", *SHARES),
        _stays_low,
    ),
    Claim(
        "claim-10b",
        "The ASR is at most 0.5 % for triggers of all sizes.",
        "our check of Table 9",
        IMAGES,
        cells_of("table9", *TRIGGERS),
        _stays_low,
    ),
    Claim(
        "claim-10c",
        "The ASR is at most 0.5 % however the examples are dealt.",
        "our check of Table 10",
        IMAGES,
        cells_of("table10", "i.i.d. (everything)", *DIRICHLET),
        _stays_low,
    ),
    Claim(
        "claim-10d",
        "Acc never rises with the share of attackers (by more than 0.5 points).",
        "our check of Table 8",
        EVERYWHERE,
        cells_of("table8", *SHARES),
        _never_rises,
    ),
    Claim(
        "claim-10e",
        "Acc never rises as shards differ more (by more than 0.5 points).",
        "our check of Table 10",
        IMAGES,
        cells_of("table10", *DIRICHLET),
        _never_rises,
    ),
    Claim(
        "claim-11",
        "The loss along the attackers' direction rises least for a 0 % edge case.",
        "Appendix D.1, Figure 4",
        ("digits", *NETWORKS),
    ),
    Claim(
        "claim-12",
        "A mimicking gradient has a cosine above .95, and slows the attack by less than 10 %.",
        "Appendix D.2",
        ("digits", *NETWORKS),
    ),
    Claim(
        "minima",
        "The attackers' minimum lies outside the hull of the honest ones.",
        "Appendix D.3",
        ("digits", *NETWORKS),
    ),
    Claim(
        "figure-6a",
        "On CIFAR-10 a wide range of τ has a low ASR: at least four neighbours of the grid.",
        "Appendix D.5, Figure 6a",
        EVERYWHERE,
        cells_of("figure6a", *(f"τ = {tau}" for tau in TAUS)),
        _is_wide,
        _success,
    ),
    Claim(
        "figure-6b",
        "On CIFAR-10 a wide range of α has a low ASR: at least four neighbours of the grid.",
        "Appendix D.5, Figure 6b",
        EVERYWHERE,
        cells_of("figure6b", *(f"α = {alpha}" for alpha in ALPHAS)),
        _is_wide,
        _success,
    ),
    Claim(
        "figure-6c",
        "On CIFAR-10, with 10 clients per round, the ASR is still low, and Acc within 5 points of that with"
        " 20.",
        "Appendix D.5, Figure 6c",
        EVERYWHERE,
        cells_of("figure6c", "10 clients", "20 clients"),
        lambda found: (
            found["10 clients"].success <= LOW
            and found["10 clients"].accuracy >= found["20 clients"].accuracy - 0.05
        ),
    ),
)
