"""The server of the live page: it reads a ledger, and answers GET. Nothing can be changed through it."""

import logging
import socket
import socketserver
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .answers import Answers
from .guard import Guard
from .source import LedgerSource

__all__ = ["MonitorServer"]

logger = logging.getLogger("holdfast.monitor")

#: So many requests are answered at a time; who comes while they are is turned away, and asks again.
MOST_REQUESTS = 32


class MonitorServer(ThreadingHTTPServer):
    """Serves the page of a ledger, which may not be there yet; `port` 0 takes a free one.

    >>> with MonitorServer(Path("federation.db"), port=0) as server:
    ...     server.url.startswith("http://127.0.0.1:")  # and then: server.serve_forever()
    True
    """

    daemon_threads = True

    def __init__(
        self, ledger: Path, *, host: str = "127.0.0.1", port: int = 7333, guard: Guard | None = None
    ) -> None:
        """Listen; nothing is answered before `serve_forever`."""
        self.source = LedgerSource(ledger)
        self.guard = guard or Guard()
        self._free = threading.Semaphore(MOST_REQUESTS)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Answers)

    @property
    def url(self) -> str:
        """Where the page is; of a server for all addresses, the one on this machine."""
        host, port = self.server_address[:2]
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(str(host), str(host))
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"

    def server_bind(self) -> None:
        """Listen without asking a name server what this machine is called, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, if there are not too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what went wrong; a browser that left is no reason for a traceback on an operator's terminal."""
        logger.debug("a request failed", exc_info=True)
