"""A document in which the paper's own numbers are the measured ones."""

from holdfast.paper import experiments_named
from holdfast.paper.experiment import document


def as_measured(mean):
    return {"mean": mean, "std": 0.0, "variance": 0.0, "low": mean, "high": mean, "values": [mean]}


def measured(accuracy, success):
    rates = {"accuracy": as_measured(accuracy), "attack_success": as_measured(success)}
    return rates | {f"last10_{name}": as_measured(spread["mean"]) for name, spread in rates.items()}


def printed_document(folder):
    """Return it; what the paper prints no numbers for is left unmeasured."""
    found = document(experiments_named(["all"], scale="paper"), folder, scale="paper")
    for one in found["experiments"]:
        for cell in one["cells"]:
            if cell["printed"] and not cell["stands_in_for"]:
                cell["measured"] = measured(cell["printed"]["accuracy"], cell["printed"]["attack_success"])
                cell["n_seeds"] = 3
    return found
