"""The ledger of a federation: who took part, what was measured and decided, in one SQLite file and a log.

The server writes one transaction per round; operators, pages and metrics read meanwhile. Beside it lies an
audit log whose lines are chained by hashes, so that later edits show.
"""

from .auditing import Audit, verify
from .entries import ClientEntry, RoundEntry, entry_of
from .hashing import model_hash
from .opening import Ledger, open_ledger
from .policy import Policy, read_policy
from .recording import record_round

__all__ = [
    "Audit",
    "ClientEntry",
    "Ledger",
    "Policy",
    "RoundEntry",
    "entry_of",
    "model_hash",
    "open_ledger",
    "read_policy",
    "record_round",
    "verify",
]
