"""What there is to choose from: rules, defences in which clients train, backdoors and their parts."""

from holdfast import aggregators
from holdfast.lab.catalogue import list_choices

from .grid import grid

#: What a rule may ask for, in words.
NEEDS = {
    "weights": "sample counts",
    "clients": "client ids",
    "state": "memory",
    "params": "the global model",
    "reference": "data of the server's own",
    "rng": "random numbers",
}


def rules_text() -> str:
    """Return every rule with what it returns, what it needs, and its paper."""
    rows = [["rule", "what it returns", "needs", "paper"], ["---"] * 4]
    papers = {entry.name: entry for entry in list_choices("defences")}
    for name in aggregators.__all__:
        bound, entry = getattr(aggregators, name), papers[name]
        needs = [word for asked, word in NEEDS.items() if bound.needs(asked)]
        needs += [f"`{setting}`" for setting in bound.missing]
        rows.append([f"`{name}`", entry.what, ", ".join(needs), _linked(entry.paper)])
    return grid(rows)


def clients_text() -> str:
    """Return the defences that are more than a rule, and in which the clients or the server train."""
    entries = [entry for entry in list_choices("defences") if entry.name not in aggregators.__all__]
    rows = [["defence", "how it trains", "paper"], ["---"] * 3]
    return grid(rows + [[f"`{entry.name}`", entry.what, _linked(entry.paper)] for entry in entries])


def backdoors_text() -> str:
    """Return every backdoor by name, with the tasks that have it."""
    tasks: dict[tuple[str, str, str], list[str]] = {}
    for entry in list_choices("attacks"):
        if entry.tasks:
            tasks.setdefault((entry.name, entry.what, entry.paper), []).append(entry.tasks[0])
    rows = [["backdoor", "what it is", "on", "paper"], ["---"] * 4]
    for (name, what, paper), own in tasks.items():
        rows.append([f"`{name}`", what, ", ".join(own), _linked(paper)])
    return grid(rows)


def parts_text() -> str:
    """Return all that can be joined to a backdoor, or stand alone."""
    rows = [["part", "what attackers send, or do", "paper"], ["---"] * 3]
    for entry in list_choices("attacks"):
        if not entry.tasks and entry.name != "none":
            rows.append([f"`{entry.name}`", entry.what, _linked(entry.paper)])
    return grid(rows)


def _linked(paper: str) -> str:
    return f"[paper]({paper})" if paper else ""
