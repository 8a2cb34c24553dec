"""The reference: a page per public package, with every name in its `__all__`."""

from importlib import import_module

#: The packages, by the name of their page, and what is said above their names.
PACKAGES = {
    "holdfast": "What most programs need. Rules have pages of their own under *Rules*.",
    "holdfast.aggregators": "All rules, those of others included.",
    "holdfast.watching": "The watch, its verdicts and what it searches with.",
    "holdfast.defending": "One round of a server: screen, watch, rule, apply.",
    "holdfast.core": "What a rule is made of, and what it says of a round.",
    "holdfast.flower": "The strategy for Flower.",
    "holdfast.files": "Rounds over models in files.",
    "holdfast.ledger": "What is kept of a federation, in one file, with an audit log.",
    "holdfast.theory": "Bounds, certificates and the adviser.",
    "holdfast.lab": "Tasks, attacks and defences, and what is done with them.",
    "holdfast.lab.attacks": "Backdoors, and what attackers make of their updates.",
    "holdfast.lab.data": "Data sets, and how they are dealt to clients.",
    "holdfast.lab.models": "Networks, and their parameters as one vector.",
    "holdfast.lab.training": "How clients train.",
    "holdfast.lab.simulation": "Whole federations, round by round.",
    "holdfast.runs.tracking": "Rounds for TensorBoard, MLflow and Weights & Biases.",
    "holdfast.report": "Pages of your own.",
    "holdfast.report.monitor": "The live page over a ledger, as a server and as a file.",
    "holdfast.errors": "What is raised.",
}
#: A package that cannot be imported without what it is for; its names are read from its text.
FOREIGN = {"holdfast.flower": "flwr"}


def make() -> dict[str, str]:
    """Return the pages, by address."""
    return {f"reference/{address_of(name)}.md": _page(name, what) for name, what in PACKAGES.items()}


def address_of(package: str) -> str:
    """Return the last part of a page's address.

    >>> address_of("holdfast.lab.data"), address_of("holdfast")
    ('lab.data', 'holdfast')
    """
    return package.removeprefix("holdfast.")


def names_of(package: str) -> list[str]:
    """Return the public names of a package; of one whose library is missing, those that its text lists."""
    try:
        return [name for name in import_module(package).__all__ if not name.startswith("__")]
    except ImportError:
        if package not in FOREIGN:
            raise
        import griffe

        return [str(name) for name in griffe.load(package).exports or ()]


def _page(package: str, what: str) -> str:
    lines = [f"---\ntitle: {package}\n---\n\n# {package}\n\n{what}\n"]
    lines += [f"::: {package}.{name}\n" for name in names_of(package)]
    return "\n".join(lines)
