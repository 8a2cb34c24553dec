"""Data sets: loaders, one file each, and how examples are dealt to clients."""

from .dataset import Dataset, standardised
from .digits import digits
from .phishing import phishing, table

__all__ = ["Dataset", "digits", "phishing", "standardised", "table"]
