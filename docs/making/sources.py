"""Files of the repository as pages, so that links from the docs to examples or the README can be followed."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

#: A Markdown link, or picture, to a file: its brackets, its target, and the anchor behind it.
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
#: A block of code, in which nothing is a link.
CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.M | re.S)
#: A picture in HTML, with a path from the page on.
PICTURE = re.compile(r'\b(src|srcset)="(?![a-z]+:|/)([^"\s]+)"')
FOLDER = "repository/"
#: Files that have a page whether anybody links to them or not.
ALWAYS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
#: What is shown of a file, by the end of its name; of others only the name and the size.
SHOWN = {".py": "python", ".toml": "toml", ".cff": "yaml", ".txt": "text", ".sh": "bash", ".md": "markdown"}
#: Beyond this many characters, a file in a folder is listed and not shown.
MOST = 30_000


def make(root: Path, texts: Mapping[str, str], *, warn: Callable[[str], None]) -> dict[str, str]:
    """Return a page for every file that pages, by address, link to outside of docs, and for those that these
    link to.
    """
    made = {_page(name, root): _text(root / name, name) for name in ALWAYS if (root / name).exists()}
    waiting = {**texts, **made}
    while waiting:
        address, text = waiting.popitem()
        for target in _outside(text, address):
            if not (root / target).exists():
                warn(f"{address} links to {target}, which is not in the repository")
            elif _page(target, root) not in made:
                page = _page(target, root)
                made[page] = waiting[page] = _text(root / target, target)
    return dict(sorted(made.items()))


def rewritten(text: str, address: str, root: Path) -> str:
    """Return a page whose links to files outside of docs lead to the pages of those files."""

    def link(match: re.Match[str]) -> str:
        target = _target(match[1], address)
        goal = target.removeprefix("docs/") if _is_inside(target) else _page(target, root)
        goal = "index.md" if goal == "docs" else goal
        return f"]({posixpath.relpath(goal, posixpath.dirname(address))}{match[2] or ''})"

    def picture(match: re.Match[str]) -> str:
        goal = _target(match[2], address).removeprefix("docs/")
        return f'{match[1]}="{posixpath.relpath(goal, posixpath.dirname(address))}"'

    return _outside_of_code(text, lambda part: PICTURE.sub(picture, LINK.sub(link, part)))


def _outside(text: str, address: str) -> Iterator[str]:
    for match in LINK.finditer(CODE.sub("", text)):
        target = _target(match[1], address)
        if not _is_inside(target):
            yield target


def _is_inside(target: str) -> bool:
    return target == "docs" or target.startswith("docs/")


def _target(link: str, address: str) -> str:
    """Return where a link leads to, from the top of the repository."""
    base = posixpath.dirname(address)
    base = base.removeprefix(FOLDER.rstrip("/")).lstrip("/") if address.startswith(FOLDER) else f"docs/{base}"
    return posixpath.normpath(posixpath.join(base, link))


def _page(target: str, root: Path) -> str:
    """Return the address of the page of a file or folder; a notebook is shown as the script it is made of."""
    if target.endswith(".ipynb"):
        target = target.removesuffix(".ipynb") + ".py"
    if (root / target).is_dir():
        return f"{FOLDER}{target}/index.md"
    return f"{FOLDER}{target}" if target.endswith(".md") else f"{FOLDER}{target}.md"


def _text(path: Path, target: str) -> str:
    if path.is_dir():
        return _folder(path, target)
    path = path.with_suffix(".py") if path.suffix == ".ipynb" else path
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return f"# {path.name}\n\n`{target}` in the repository.\n\n{_shown(path)}"


def _folder(path: Path, target: str) -> str:
    files = sorted(one for one in path.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
    lines = [f"# {target}/", "", "In the repository:", ""]
    lines += [f"- `{one.relative_to(path)}`, {_size(one.stat().st_size)}" for one in files]
    for one in files:
        if one.suffix in SHOWN and one.stat().st_size < MOST:
            lines += ["", f"## {one.relative_to(path)}", "", _shown(one)]
    return "\n".join(lines) + "\n"


def _shown(path: Path) -> str:
    return f"~~~~~{SHOWN.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8')}\n~~~~~\n"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes > 1e6 else f"{max(1, round(n_bytes / 1e3))} kB"


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """Return a page with all of it changed but its blocks of code."""
    parts, end = [], 0
    for block in CODE.finditer(text):
        parts += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(text[end:])])
