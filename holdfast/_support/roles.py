"""The roles of functions that a user chooses, and what each is called with."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["ROLES", "Role"]

_RNG = "a numpy Generator, for functions that draw random numbers"


class Role(NamedTuple):
    """What a function is called with: positional arguments, and the inputs it may ask for by name.

    >>> ROLES["model"].inputs["vectors"]
    '(n_words, dim) the frozen word vectors of the data set'
    """

    takes: tuple[str, ...]
    inputs: Mapping[str, str]


#: What the caller of a function supplies, by the function's role. A new need is one name here.
ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "rule": Role(
            ("updates",),
            {
                "params": "the parameters of the global model before the round, flat",
                "previous": "the last global update, flat",
                "weights": "(n_clients,) examples per client, capped",
                "clients": "(n_clients,) ids",
                "state": "what the rule returned in Aggregate.state last round, None at first",
                "reference": "the server's own update, from data that it trusts",
                "rng": _RNG,
            },
        ),
        "watch": Role(
            ("updates",),
            {
                "clients": "(n_clients,) ids, the same for a client in all rounds",
                "state": "what the watch returned in Watched.state last round, None at first",
                "pardoned": "ids of clients whose say an operator lets no watch take",
                "rng": _RNG,
            },
        ),
        "craft": Role(
            ("updates",),
            {
                "previous": "the last global update",
                "benign": "(n_honest, dim) the honest rows of this round, for attackers who see everything",
                "rehearsal": "(n_attackers, dim) what the attackers would send if they were honest",
                "attackers": "(n_attackers,) their ids",
                "round": "the number of the round, from 1",
                "params": "the global model before the round, flat",
                "layers": "the (name, slice) of each of the network's tensors in a flat update",
                "trial": "from an update to accuracy and success of the model with it, on own examples",
                "server": "from the attackers' rows to what the server would make of the round",
                "state": "what the craft returned in Crafted.state last time, None at first",
                "rng": _RNG,
            },
        ),
        "backdoor": Role(
            ("data",),
            {"exposure": "the share of an edge-case pool that honest clients hold", "rng": _RNG},
        ),
        "split": Role(("labels",), {"n_clients": "how many clients there are", "rng": _RNG}),
        "loader": Role((), {}),
        "model": Role((), {"vectors": "(n_words, dim) the frozen word vectors of the data set"}),
        "training": Role(
            ("model", "params", "shards"),
            {
                "span": "the lowest and highest values an example can have, for training that makes examples",
                "previous": "the last global update, flat",
            },
        ),
        "augmentation": Role(("examples",), {"rng": _RNG}),
        "minority": Role(("examples",), {"data": "the data set, for what only all examples tell"}),
        "prediction": Role(("scores",), {}),
        "study": Role(("run", "folder"), {"progress": "told how many steps are done, and what comes next"}),
    }
)
