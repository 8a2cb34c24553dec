"""What the paper says in words, as checks: each holds, does not hold, or is not measured yet."""

from collections.abc import Sequence

from .experiment import Document
from .judging import verdicts
from .main_claims import MAIN_CLAIMS
from .other_claims import OTHER_CLAIMS

__all__ = ["CLAIMS", "judge_claims"]

CLAIMS = (*MAIN_CLAIMS, *OTHER_CLAIMS)


def judge_claims(experiments: Sequence[Document]) -> list[Document]:
    """Return all claims with what the experiments of a document say of them.

    >>> {claim["verdict"] for claim in judge_claims([])}
    {'not measured'}
    """
    return verdicts(CLAIMS, experiments)
