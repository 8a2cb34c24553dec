"""The code epoch of a result: raised by hand, with a reason, when the code begins to give other results."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["CHANGES", "code_epoch"]

#: Every change of the code that changed results: (a text in the descriptions of the runs it touches, why).
#: "" touches all runs. Append a line when results change by more than rounding errors; never remove one.
CHANGES: tuple[tuple[str, str], ...] = (
    ("", "the first results that were stored"),
    ("fltrust(", "the server trains for as many steps as a client, not for as many epochs"),
    ("factions(", "newcomers wait, who is away is not searched, a faction has a twelfth of the clients"),
)


def code_epoch(description: Mapping[str, Any]) -> int:
    """Return the number of the last change that touches what is described, from 1 on.

    >>> code_epoch({"defence": {"aggregate": "median()"}}) >= 1
    True
    """
    text = json.dumps(description, ensure_ascii=False)
    return max(number for number, (part, _) in enumerate(CHANGES, 1) if part in text)
