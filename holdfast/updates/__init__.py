"""How clients' rows are held and served, block by block."""

from .rows import CELL, Home, Rows, Stored, Updates, rows_of

__all__ = ["CELL", "Home", "Rows", "Stored", "Updates", "rows_of"]
