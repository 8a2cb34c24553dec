"""Data sets: loaders, one file each, and how examples are dealt to clients."""

from .cifar10 import cifar10
from .dataset import Dataset, Pool, standardise
from .digits import digits
from .phishing import phishing
from .tables import phishing_urls, spambase, table
from .twitter import twitter

__all__ = [
    "Dataset",
    "Pool",
    "cifar10",
    "digits",
    "phishing",
    "phishing_urls",
    "spambase",
    "standardise",
    "table",
    "twitter",
]
