"""Who may read the page: those who ask for the server by its own name, with the token if there is one."""

import hashlib
import hmac
import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

__all__ = ["HEADERS", "PAGE_POLICY", "Guard", "is_loopback"]

#: The page itself says, in it, which scripts and styles it has.
PAGE_POLICY = "object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

#: Nothing is kept, framed, guessed, or told to others.
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": f"default-src 'none'; {PAGE_POLICY}",
}


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Guard:
    """What a request must bring.

    A page of another site can make a browser ask this server by a name that it points here (DNS rebinding),
    but then the request carries that name. Addresses in digits cannot be pointed anywhere.

    >>> guard = Guard(names=("monitor.example",), token="secret")
    >>> [guard.knows_host(host) for host in ("127.0.0.1:7333", "monitor.example", "evil.example")]
    [True, True, False]
    >>> guard.admits({"Authorization": "Bearer secret"}), guard.admits({"Authorization": "Bearer guess"})
    (True, False)
    """

    names: Collection[str] = ()
    token: str | None = field(default=None, repr=False)

    def knows_host(self, given: str | None) -> bool:
        """Tell whether a Host header names this server."""
        try:
            host = urlsplit(f"//{given or ''}").hostname or ""
        except ValueError:
            return False
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return host in {"localhost", *(name.lower() for name in self.names)}
        return True

    def is_token(self, given: str | None) -> bool:
        """Tell whether this is the token, in a time that does not depend on how much of it is right."""
        return self.token is not None and hmac.compare_digest((given or "").encode(), self.token.encode())

    @property
    def cookie(self) -> str:
        """The name of the cookie that carries the token: two servers on one machine do not share it."""
        return f"holdfast-monitor-{hashlib.sha256((self.token or '').encode()).hexdigest()[:12]}"

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Tell whether a request carries the token, in a cookie or as a bearer's; or none is needed."""
        if self.token is None:
            return True
        kind, _, bearer = headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(bearer.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("Cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and self.is_token(cookie.value)
