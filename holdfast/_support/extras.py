"""How to install what an extra brings. No index has holdfast: a name there would be somebody else's."""

__all__ = ["install"]


def install(*extras: str) -> str:
    """Return what to type for some extras.

    >>> install("sim", "report")
    "in a checkout: pip install '.[sim,report]'"
    """
    return f"in a checkout: pip install '.[{','.join(extras)}]'"
