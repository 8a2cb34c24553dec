"""Data sets: loaders, one file each, and how examples are dealt to clients."""

from .dataset import Dataset, Pool, standardised
from .digits import digits
from .phishing import phishing
from .tables import phishing_urls, spambase, table

__all__ = ["Dataset", "Pool", "digits", "phishing", "phishing_urls", "spambase", "standardised", "table"]
