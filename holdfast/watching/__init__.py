"""The watch: memory of clients, the search for factions among them, and verdicts."""

from .crowds import Faction, factions_in, shared_part
from .evidence import chance_of_false_alarm, evidence_needed, rounds_until_seen
from .judging import Watched, factions, watch
from .memory import N_HEARD, ClientMemory
from .verdicts import Verdict, Verdicts

__all__ = [
    "N_HEARD",
    "ClientMemory",
    "Faction",
    "Verdict",
    "Verdicts",
    "Watched",
    "chance_of_false_alarm",
    "evidence_needed",
    "factions",
    "factions_in",
    "rounds_until_seen",
    "shared_part",
    "watch",
]
