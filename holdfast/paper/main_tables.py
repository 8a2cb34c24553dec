"""The tables on all tasks: 1 (defences), 4 (ablation), 5 (attacks)."""

from dataclasses import replace

from .table import LIKE_CIFAR10, Row, Table, as_printed

__all__ = ["TABLE1", "TABLE4", "TABLE5"]

#: What the paper prints of many rules on phishing: all of the attack gets through, or none of it.
FOOLED, SPARED = ".999±.001 .999±.001", ".999±.001 .000±.001"

_INVARIANT = Row("Invariant", printed=as_printed(".677±.001 .001±.001", ".687±.001 .296±.003", SPARED))
_TRIMMED = Row(
    "Trimmed mean",
    "trimmed_mean",
    printed=as_printed(".687±.001 .512±.002", ".728±.001 .640±.016", FOOLED),
)

#: Rows that the paper does not have: the setting of its released code, the other τ of its table 3, and the
#: median that it analyses.
_BEYOND = (
    Row(
        "Invariant (released code: τ 0.6, α 0.45)",
        settings={"invariant.tau": 0.6, "invariant.alpha": 0.45},
    ),
    Row("Invariant (τ 0.2)", tasks=("phishing", "digits"), settings={"invariant.tau": 0.2}),
    Row("Median", "median"),
)

TABLE1 = Table(
    "table1",
    "Table 1: defences against the edge-case attack",
    "Attackers are drawn like everybody. Phishing is a synthetic stand-in of the same size and shape; digits"
    " are a small task of our own, with τ = 0.6 as on two of the paper's three tasks and τ = 0.2 as a row of"
    " its own. The rows after Invariant are not in the paper. No attack is FedAvg among honest clients.",
    (
        Row("FedAvg", "fedavg", printed=as_printed(".679±.001 .717±.001", ".722±.001 .440±.001", FOOLED)),
        Row("Krum", "krum", printed=as_printed(".140±.001 .275±.012", ".579±.001 .766±.002", FOOLED)),
        Row(
            "Multi-Krum",
            "multi_krum",
            printed=as_printed(".541±.002 .923±.021", ".727±.001 .656±.008", FOOLED),
        ),
        Row(
            "Multi-Krum (cosine)",
            "multi_krum_cosine",
            printed=as_printed(".681±.002 .821±.001", ".594±.002 .701±.001", ".999±.001 .333±.333"),
        ),
        _TRIMMED,
        Row(
            "Krum, trimmed mean",
            "krum_trimmed_mean",
            printed=as_printed(".682±.001 .607±.002", ".727±.001 .641±.001", FOOLED),
        ),
        Row(
            "Sign-SGD",
            "sign_sgd",
            printed=as_printed(".301±.005 .000±.001", ".610±.003 .751±.076", ".999±.000 .667±.333"),
        ),
        Row("Weak-DP", "weak_dp", printed=as_printed(".454±.003 .828±.003", ".667±.001 .374±.002", FOOLED)),
        Row("RLR", "rlr", printed=as_printed(".659±.001 .450±.001", ".639±.002 .447±.001", FOOLED)),
        Row("RFA", "rfa", printed=as_printed(".685±.001 .853±.002", ".718±.001 .704±.002", FOOLED)),
        Row(
            "SparseFed", "sparsefed", printed=as_printed(".662±.001 .984±.001", ".667±.001 .608±.002", FOOLED)
        ),
        Row(
            "FLTrust",
            "fltrust",
            printed=as_printed(".671±.001 .574±.002", ".691±.001 .473±.002", ".999±.001 .333±.001"),
        ),
        # FLIP inverts triggers in numbers: it has no meaning on text.
        Row("FLIP", "flip", printed=as_printed(".667±.002 .250±.001", "", SPARED), tasks=LIKE_CIFAR10),
        Row(
            "No attack",
            "fedavg",
            share=0.0,
            printed=as_printed(".718±.001 .000±.001", ".731±.001 .095±.001", SPARED),
        ),
        _INVARIANT,
        *_BEYOND,
        Row("Norm clipping", "norm_clipping"),
        Row("Centered clipping", "centered_clipping"),
    ),
)

TABLE4 = Table(
    "table4",
    "Table 4: what each half of the defence does",
    "The paper gives no threshold for the mean-variance ratio: it is as strict here as the mask of signs is"
    " for clients of equal magnitude. Its trimmed mean has another spread on CIFAR-10 than in table 1. The"
    " last rows are not in the paper.",
    (
        _INVARIANT,
        Row("AND-mask", "and_mask", printed=as_printed(".672±.001 .655±.001", ".652±.001 .493±.017", FOOLED)),
        replace(_TRIMMED, printed=as_printed(".687±.001 .512±.001", ".728±.001 .640±.016", FOOLED)),
        Row(
            "Mean-variance ratio",
            "mean_variance_mask",
            printed=as_printed(".554±.001 .000±.001", ".613±.001 .603±.001", ".999±.000 .333±.333"),
        ),
        *_BEYOND,
    ),
)

TABLE5 = Table(
    "table5",
    "Table 5: the invariant aggregator under various attacks",
    "No attack is the invariant aggregator among honest clients, measured by the edge-case backdoor. The"
    " adaptive attackers read the mask off the last global update. Text has no distributed trigger.",
    (
        Row("No attack", share=0.0, printed=as_printed(".685±.001 .000±.001", ".691±.001 .095±.001", SPARED)),
        replace(_INVARIANT, label="Edge-case"),
        Row(
            "Distributed (DBA)",
            attack="distributed",
            printed=as_printed(".679±.001 .001±.001", "", SPARED),
            tasks=LIKE_CIFAR10,
        ),
        Row(
            "Edge-case, collude",
            attack="edge-case+collude",
            printed=as_printed(".675±.001 .021±.001", ".685±.002 .324±.001", SPARED),
        ),
        Row(
            "Edge-case, adaptive",
            attack="edge-case+adaptive",
            printed=as_printed(".668±.001 .013±.001", ".682±.001 .331±.002", SPARED),
        ),
        Row(
            "Edge-case, collude, adaptive",
            attack="edge-case+collude+adaptive",
            printed=as_printed(".667±.001 .049±.001", ".683±.001 .335±.001", SPARED),
        ),
    ),
)
