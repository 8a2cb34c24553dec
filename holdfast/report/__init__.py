"""Pages, tables and figures of documents. Data goes in, files come out where asked for; nothing is run."""

from .installed import check_installed
from .maps import map_of_clients

__all__ = ["check_installed", "map_of_clients"]
