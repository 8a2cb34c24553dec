"""The live page of a federation: read from its ledger, served or written to a file. It changes nothing."""

from .pages import write_monitor_page
from .server import MonitorServer

__all__ = ["MonitorServer", "write_monitor_page"]
