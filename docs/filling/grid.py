"""Rows of cells as a table in Markdown."""

from collections.abc import Iterable


def grid(rows: Iterable[list[str]]) -> str:
    """Return a table; its second row is the line under the head.

    >>> print(grid([["rule", "is"], ["---", "---"], ["a|b", "good"]]), end="")
    | rule | is |
    | --- | --- |
    | a&#124;b | good |
    """
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n" for cells in rows)
