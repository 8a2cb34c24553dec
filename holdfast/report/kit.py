"""One kit for all pages: each is one HTML file that opens from disk and asks nothing of a network.

Templates escape every text, so what a stranger wrote stays text. Scripts and styles are part of the page, and
its policy forbids all others. The document behind a page is carried in it, as JSON.
"""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .._support.counting import is_number
from .installed import check_installed

if TYPE_CHECKING:
    import jinja2

__all__ = ["ABSENT", "as_json", "counted", "level", "margin", "part", "percent", "render", "written"]

#: In the order in which they are put together; the last one starts.
SCRIPTS = (
    *("elements", "lines", "chart", "legend", "curves", "clients", "runs"),
    *("verdicts", "map", "timeline", "watch", "start"),
)
STYLES = ("style",)
ABSENT = "–"


def render(
    template: str,
    *,
    data: Mapping[str, Any] | None = None,
    scripts: Sequence[str] = SCRIPTS,
    styles: Sequence[str] = STYLES,
    asks: str = "",
    **values: Any,
) -> str:
    """Return a page. The scripts draw what `data` holds; a page without data has no scripts.

    A page asks nobody for anything, unless `asks` names whom: 'self' is the server it comes from.
    """
    check_installed("jinja2")
    style = "\n".join(_part_of_page("templates", f"{name}.css") for name in styles)
    script = "\n".join(_part_of_page("scripts", f"{name}.js") for name in scripts)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    allowed = "'none'" if data is None else _hash(script)
    policy = f"default-src 'none'; img-src data:; script-src {allowed}; style-src {_hash(style)}"
    policy += f"; connect-src {asks}" if asks else ""
    return (
        _environment()
        .get_template(template)
        .render(
            policy=policy, style=style, script=script, data=data if data is None else _sound(data), **values
        )
    )


@cache
def _part_of_page(folder: str, name: str) -> str:
    return files(__package__).joinpath(folder, *name.split("/")).read_text("utf-8")


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.PackageLoader(str(__package__)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    found.filters |= {"percent": percent, "level": level, "part": part, "margin": margin, "written": written}
    found.globals |= {"counted": counted, "is_number": is_number}
    return found


def percent(share: Any) -> str:
    """Return a share in percent, to a tenth; a dash for what is no number."""
    return f"{100 * share:.1f}" if is_number(share) else ABSENT


def written(value: Any, name: str, sign: str = "") -> str:
    """Return a number of this name as tables have it: a share in percent, a count as it is.

    >>> written(-0.25, "accuracy", "+"), written(2 / 3, "n_found")
    ('−25.0', '0.667')
    """
    if not is_number(value):
        return ABSENT
    text = f"{value:{sign}.3g}" if name.startswith("n_") else f"{100 * value:{sign}.1f}"
    return text.replace("-", "−")


def margin(value: Any, name: str) -> str:
    """Return a margin of such a number; of a share, none is shown beyond the whole.

    >>> margin(0.052, "accuracy"), margin(6.353, "accuracy"), margin(6.353, "n_found")
    ('5.2', '>100', '6.35')
    """
    is_beyond = is_number(value) and value > 1 and not name.startswith("n_")
    return ">100" if is_beyond else written(value, name)


def level(share: Any) -> int | None:
    """Return a share in tenths, for the depth of a colour."""
    return round(10 * min(max(share, 0.0), 1.0)) if is_number(share) else None


def counted(numbers: Iterable[int], thing: str) -> str:
    """Return how many, or from how few to how many."""
    known = sorted(set(numbers))
    if not known or known == [0]:
        return f"no {thing}s"
    least, most = known[0], known[-1]
    return f"{most} {thing}{'s' * (most != 1)}" if least == most else f"{least} to {most} {thing}s"


def part(value: Any, name: str) -> Any:
    """Return what a mapping has under a name; None if it is no mapping, or has nothing there."""
    return value.get(name) if isinstance(value, Mapping) else None


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document as JSON; of a number that JSON does not know, null.

    >>> as_json({"loss": float("nan"), "round": 3})
    '{"loss":null,"round":3}'
    """
    return json.dumps(_sound(document), allow_nan=False, separators=(",", ":"))


def _sound(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document that JSON can hold: mostly it is itself, and then nothing is copied."""
    try:
        json.dumps(document, allow_nan=False)
    except ValueError:
        found: Mapping[str, Any] = _finite(document)
        return found
    return document


def _finite(value: Any) -> Any:
    """Return the same with None for numbers that JSON does not know."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
