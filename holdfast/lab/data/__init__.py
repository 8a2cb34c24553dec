"""Data sets: loaders, one file each, and how examples are dealt to clients."""

from .cifar10 import cifar10, cifar10_released
from .cifar10_cars import cifar10_cars
from .dataset import Dataset, Pool, standardise
from .digits import digits
from .fashion_mnist import fashion_mnist
from .minorities import dialect, inverted, reordered, turned
from .mnist import mnist
from .phishing import phishing
from .tables import phishing_urls, spambase, table
from .twitter import twitter

__all__ = [
    "Dataset",
    "Pool",
    "cifar10",
    "cifar10_cars",
    "cifar10_released",
    "dialect",
    "digits",
    "fashion_mnist",
    "inverted",
    "mnist",
    "phishing",
    "phishing_urls",
    "reordered",
    "spambase",
    "standardise",
    "table",
    "turned",
    "twitter",
]
