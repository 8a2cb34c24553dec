"""Server rules, one file per method: clients' updates in, an Aggregate out."""

from .align_ins import align_ins
from .and_mask import and_mask
from .arc import arc
from .bucketing import bucketing
from .bulyan import bulyan
from .cached import cached
from .centered_clipping import centered_clipping
from .crfl import crfl
from .dnc import dnc
from .fed_seca import fed_seca
from .fedavg import fedavg
from .fl_detector import fl_detector
from .flame import flame
from .fltrust import fltrust
from .foolsgold import foolsgold
from .invariant import invariant
from .krum import krum
from .krum_trimmed_mean import krum_trimmed_mean
from .mean_variance_mask import mean_variance_mask
from .median import median
from .multi_krum import multi_krum
from .multi_krum_cosine import multi_krum_cosine
from .multi_metrics import multi_metrics
from .nnm import nnm
from .norm_clipping import norm_clipping
from .rfa import rfa
from .rflbat import rflbat
from .rlr import rlr
from .sign_sgd import sign_sgd
from .sparsefed import sparsefed
from .trimmed_mean import trimmed_mean
from .weak_dp import weak_dp
from .weighted_invariant import weighted_invariant
from .weighted_median import weighted_median
from .weighted_trimmed_mean import weighted_trimmed_mean

__all__ = [
    "align_ins",
    "and_mask",
    "arc",
    "bucketing",
    "bulyan",
    "cached",
    "centered_clipping",
    "crfl",
    "dnc",
    "fed_seca",
    "fedavg",
    "fl_detector",
    "flame",
    "fltrust",
    "foolsgold",
    "invariant",
    "krum",
    "krum_trimmed_mean",
    "mean_variance_mask",
    "median",
    "multi_krum",
    "multi_krum_cosine",
    "multi_metrics",
    "nnm",
    "norm_clipping",
    "rfa",
    "rflbat",
    "rlr",
    "sign_sgd",
    "sparsefed",
    "trimmed_mean",
    "weak_dp",
    "weighted_invariant",
    "weighted_median",
    "weighted_trimmed_mean",
]
