"""From the result of a round to the ledger, for a loop of your own."""

import time
from collections.abc import Collection, Mapping
from typing import Any

from ..core import Rule, Watch
from ..defending import Defended
from .entries import RoundEntry, entry_of
from .hashing import model_hash
from .opening import Ledger

__all__ = ["record_round"]


def record_round(
    ledger: Ledger,
    result: Defended,
    *,
    round: int,
    rule: Rule | None = None,
    watch: Watch | None = None,
    base: Any = None,
    clients: Collection[Any] | None = None,
    examples: Mapping[Any, float] | None = None,
    at: float | None = None,
    **facts: Any,
) -> RoundEntry:
    """Write what `defend` returned for a round, and return what was written.

    `base` is the model that the round began with: its hash is kept, and that of the next one, never the
    models. `clients` are those who were asked: in a hearing, the result does not say. `examples` are
    sample counts by client id; `facts` are further fields of a RoundEntry, such as
    accuracy, loss, seconds or metrics.

    >>> import tempfile
    >>> import numpy as np
    >>> from holdfast import defend, median
    >>> from holdfast.ledger import open_ledger
    >>> sent = {"ann": np.array([1.0]), "bob": np.array([2.0]), "eve": np.array([np.nan])}
    >>> with open_ledger(f"{tempfile.mkdtemp()}/federation.db") as ledger:
    ...     written = record_round(ledger, defend(sent, median, like=np.zeros(1)), round=1, rule=median)
    ...     [(one["id"], one["n_used"], one["n_dropped"]) for one in ledger.clients()]
    [('ann', 1, 0), ('bob', 1, 0), ('eve', 0, 1)]
    """
    hashes = {"model_before": base, "model_after": result.model}
    known = {name: model_hash(model) for name, model in hashes.items() if model is not None}
    entry = entry_of(
        result.diagnostics,
        result.verdicts,
        round=round,
        rule=None if rule is None else str(rule),
        watch=None if watch is None else str(watch),
        asked=clients,
        examples=examples,
        **{**known, **facts},
    )
    ledger.write(entry, at=time.time() if at is None else at)
    return entry
