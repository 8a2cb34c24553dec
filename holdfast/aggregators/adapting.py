"""How a rule's settings follow a round: fewer attackers can be left, or too few clients came for them.

`n_malicious` and `alpha` say how many attackers of a round a rule withstands. Where a watch has expelled some
of the round's clients, so many fewer attackers are left by the user's own assumption.
"""

from collections.abc import Mapping
from typing import Any

from .._support.counting import check_whole, trim_count
from ..core import Attendance

Settings = Mapping[str, Any]


def fewer_attackers(settings: Settings, attendance: Attendance) -> Settings:
    """Assume fewer attackers.

    >>> fewer_attackers({"n_malicious": 4}, Attendance(n_clients=17, n_expelled=3))
    {'n_malicious': 1}
    """
    check_whole("n_malicious", settings["n_malicious"], at_least=0)
    return {"n_malicious": attendance.attackers_left(settings["n_malicious"])}


def fewer_trimmed(settings: Settings, attendance: Attendance) -> Settings:
    """Trim fewer values at each end.

    >>> fewer_trimmed({"alpha": 0.25}, Attendance(n_clients=16, n_expelled=4))  # 5 of 20 before, 1 of 16 now
    {'alpha': 0.0625}
    """
    return _trimming(settings["alpha"], attendance, n_before=attendance.n_before, n=attendance.n_clients)


def krum_attackers(settings: Settings, attendance: Attendance) -> Settings:
    """Assume fewer attackers, and no more than Krum's bound n >= 2f + 3 allows.

    Beyond it, attackers who agree have the lowest scores, and Krum selects them. Krum refuses n < f + 3.

    >>> krum_attackers({"n_malicious": 8}, Attendance(n_clients=13))
    {'n_malicious': 5}
    """
    fewer = fewer_attackers(settings, attendance)["n_malicious"]
    n = attendance.n_clients
    return {"n_malicious": min(fewer, (n - 3) // 2) if n >= fewer + 3 else fewer}


def krum_attackers_and_trimmed(settings: Settings, attendance: Attendance) -> Settings:
    """Adapt Krum, and trim fewer of the updates that it selects.

    >>> selected = {"n_malicious": 4, "alpha": 0.25, "n_selected": None}
    >>> attendance = Attendance(n_clients=18, n_expelled=2)  # trims 4 of 16 before, 2 of 16 now
    >>> krum_attackers_and_trimmed(selected, attendance)
    {'n_malicious': 2, 'alpha': 0.125}
    """
    changes = krum_attackers(settings, attendance)
    n_before = settings["n_selected"] or max(1, attendance.n_before - settings["n_malicious"])
    n = settings["n_selected"] or attendance.n_clients - changes["n_malicious"]
    return {**changes, **_trimming(settings["alpha"], attendance, n_before=n_before, n=n)}


def attackers_here_and_behind(settings: Settings, attendance: Attendance) -> Settings:
    """Assume fewer attackers, also in the rule behind, which gets as many rows.

    >>> from holdfast.aggregators import krum
    >>> behind = {"n_malicious": 4, "rule": krum(n_malicious=4)}
    >>> attackers_here_and_behind(behind, Attendance(n_clients=18, n_expelled=1))
    {'n_malicious': 3, 'rule': krum(n_malicious=3)}
    """
    return {**fewer_attackers(settings, attendance), "rule": settings["rule"].adapted(attendance)}


def _trimming(alpha: float, attendance: Attendance, *, n_before: int, n: int) -> Settings:
    """Find the share of n that trims as many fewer values at each end as there are fewer attackers."""
    if not attendance.n_expelled:
        return {}
    return {"alpha": attendance.attackers_left(trim_count(alpha, n_before)) / max(1, n)}
