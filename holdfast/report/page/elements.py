"""HTML that is safe by construction: what is not markup already is escaped."""

import html
from typing import Any

__all__ = ["Markup", "breakable", "element", "joined"]

#: Elements that have no content and no end.
VOID = frozenset({"img", "wbr"})


class Markup(str):
    """Text that is HTML already; `element` and `joined` make it, nothing else should."""

    __slots__ = ()


def element(name: str, *content: str | None, **attributes: Any) -> Markup:
    """Return an element; plain strings in it are escaped, None and False leave a thing out.

    An attribute's name may end in an underscore, and its other underscores are hyphens.

    >>> element("td", "a < b", class_="number", data_level=3)
    '<td class="number" data-level="3">a &lt; b</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*content)}</{name}>")


def joined(*content: str | None) -> Markup:
    """Return the parts as one piece of HTML; plain strings are escaped.

    >>> joined("<", element("b", "x"), None)
    '&lt;<b>x</b>'
    """
    return Markup(
        "".join(
            part if isinstance(part, Markup) else html.escape(part) for part in content if part is not None
        )
    )


def breakable(text: str) -> Markup:
    """Return the text so that a line may end after each plus: the names of attacks are long.

    >>> breakable("edge-case+collude")
    'edge-case+<wbr>collude'
    """
    return Markup("+<wbr>".join(map(html.escape, text.split("+"))))
