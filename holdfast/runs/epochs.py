"""The code epoch of a result: raised by hand, with a reason, when the code begins to give other results."""

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["CHANGES", "code_epoch"]

#: Every change of the code that changed results: (a pattern in the descriptions of the runs it touches, why).
#: "" touches all runs. Append a line when results change by more than rounding errors; never remove one.
CHANGES: tuple[tuple[str, str], ...] = (
    ("", "the first results that were stored"),
    (r"fltrust\(", "the server trains for as many steps as a client, not for as many epochs"),
    (r"factions\(", "newcomers wait, who is away is not searched, a faction has a twelfth of the clients"),
    (r'(?=.*"n_clients": (?!100\b)\d{3,}).*factions\(', "more evidence beyond 100 clients"),
    (r"resnet18\([^)]*stem='imagenet', norm='batch'", "small last batches join the ones before them"),
    (r"whitewash.*factions\(", "newcomers who never had a say take nothing back"),
    (r"factions\(", "who may only be copied counts as one, and rules relax with every expulsion"),
    (
        r'dirichlet\(.*"aggregate": "[^"]*((rfa|rlr|crfl|weak_dp|weighted_\w+)\(|weighted=True)',
        "no client counts for more than three times its equal share",
    ),
)


def code_epoch(description: Mapping[str, Any]) -> int:
    """Return the number of the last change that touches what is described, from 1 on.

    >>> watched = {"watch": "factions(mode='expel')"}
    >>> [code_epoch({"task": {"n_clients": n}, "defence": watched}) for n in (50, 100, 101, 1000)]
    [7, 7, 7, 7]
    """
    text = json.dumps(description, ensure_ascii=False)
    return max(number for number, (pattern, _) in enumerate(CHANGES, 1) if re.search(pattern, text))
