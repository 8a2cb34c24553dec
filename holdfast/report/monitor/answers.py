"""What the server answers: the page, what is new in the ledger, a map, numbers for Prometheus."""

import gzip
import logging
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

from ..._support.printable import printable
from ...errors import HoldfastError
from .documents import empty_document
from .guard import HEADERS, PAGE_POLICY
from .metrics import exposition
from .pages import monitor_page
from .source import UnreadableError

if TYPE_CHECKING:
    from .server import MonitorServer

__all__ = ["Answers"]

logger = logging.getLogger("holdfast.monitor")

#: Answers shorter than this are not worth packing.
WORTH_PACKING = 1_000
HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"

Query = dict[str, str]


class Answers(BaseHTTPRequestHandler):
    """One request. Only GET and HEAD have an answer; all others are refused."""

    timeout = 15  # seconds that a connection may be silent
    server_version, sys_version = "holdfast", ""

    def do_GET(self) -> None:
        """Answer, after the name of the server and the token were checked."""
        monitor = cast("MonitorServer", self.server)
        asked = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(asked.query).items()}
        if not monitor.guard.knows_host(self.headers.get("Host")):
            host = printable(self.headers.get("Host"))
            self._refuse(
                HTTPStatus.FORBIDDEN, f"This server is not called {host}; to allow it: --name {host}"
            )
        elif "token" in query and monitor.guard.is_token(query["token"]):
            self._remember(query["token"])
        elif not monitor.guard.admits(dict(self.headers)):
            self._refuse(
                HTTPStatus.UNAUTHORIZED,
                f"Open {self._here()}?token=... with the token that 'holdfast monitor' said.",
            )
        elif self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and asked.path != "/":
            self._refuse(HTTPStatus.FORBIDDEN, "Pages of other sites are not answered.")
        else:
            self._route(asked.path, query)

    do_HEAD = do_GET  # noqa: N815

    def _here(self) -> str:
        return cast("MonitorServer", self.server).url

    def _route(self, path: str, query: Query) -> None:
        routes = {
            "/": self._page,
            "/api/update": self._update,
            "/api/map": self._map,
            "/metrics": self._metrics,
        }
        answer = routes.get(path)
        if answer is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is nothing here.")
            return
        try:
            answer(query)
        except UnreadableError as error:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"The ledger cannot be read: {error}")
        except HoldfastError as error:
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, str(error))

    def _page(self, query: Query) -> None:
        source = cast("MonitorServer", self.server).source
        try:
            document = source.document()
        except UnreadableError as error:
            document = empty_document(str(source.path), error=str(error))
        page = monitor_page(document, live=True)
        self._send(page.encode(), HTML, extra={"Content-Security-Policy": PAGE_POLICY})

    def _update(self, query: Query) -> None:
        source = cast("MonitorServer", self.server).source
        if query.get("tag", "") == (source.tag() or ""):
            self._send(b"", JSON, status=HTTPStatus.NO_CONTENT)
            return
        self._send(source.answer(last=_whole(query.get("last"))), JSON)

    def _map(self, query: Query) -> None:
        number = _whole(query.get("round"))
        found = None if number is None else cast("MonitorServer", self.server).source.frame(number)
        if found is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no map of this round.")
        else:
            self._send(found, JSON)

    def _metrics(self, query: Query) -> None:
        text, kind = exposition(
            cast("MonitorServer", self.server).source, accept=self.headers.get("Accept", "")
        )
        self._send(text, kind)

    def _remember(self, token: str) -> None:
        """Put the token into a cookie that scripts cannot read, and take it out of the address."""
        cookie = cast("MonitorServer", self.server).guard.cookie
        kept = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Lax"
        self._send(b"", TEXT, status=HTTPStatus.SEE_OTHER, extra={"Set-Cookie": kept, "Location": "./"})

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        bearer = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
        self._send(f"{why}\n".encode(), TEXT, status=status, extra=bearer)

    def _send(
        self,
        body: bytes,
        kind: str,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        extra: dict[str, str] | None = None,
    ) -> None:
        headers = HEADERS | {"Content-Type": kind, "Vary": "Accept-Encoding"} | (extra or {})
        if len(body) > WORTH_PACKING and "gzip" in self.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = gzip.compress(body, 5), "gzip"
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request: like everything else, as text."""
        status = HTTPStatus(code)
        self.close_connection = True
        self.headers = getattr(self, "headers", None) or self.MessageClass()
        self._refuse(status, status.phrase)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log for those who ask for it; what a stranger wrote never reaches a terminal as it is."""
        logger.debug("%s %s", self.address_string(), printable(format % arguments, limit=200))


def _whole(text: str | None) -> int | None:
    """Return a number that a page sent; None if it sent none, or nonsense."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
