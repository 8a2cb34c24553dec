"""A page of the site as a reader meets it: its links, the places they can lead to, its words."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

#: Attributes by which a page fetches something, without a click.
FETCHES = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href"), ("source", "srcset")}


class Page(HTMLParser):
    """What is in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links, self.own_links, self.fetched, self.words = [], [], [], []
        self.places = {}  # where, in the words, an anchor stands
        self._depth = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self._depth += tag == "article"
        if given.get("id"):
            self.places[given["id"]] = len(self.words)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
            if self._depth:
                self.own_links.append((given["href"], len(self.words)))
        self.fetched += [value for name, value in attrs if (tag, name) in FETCHES and value]

    def handle_endtag(self, tag):
        self._depth -= tag == "article"

    def handle_data(self, data):
        self.words += data.split()

    def text(self, anchor="", n_words=None):
        """Return the words of the page, or so many from an anchor on."""
        start = self.places[anchor] if anchor else 0
        return " ".join(self.words[start : start + n_words if n_words else None])


def target_of(page: Path, link: str) -> tuple[Path, str]:
    """Return the file that a link of a page leads to, and the anchor in it."""
    address, anchor = urldefrag(link)
    path = (page.parent / unquote(address.partition("?")[0])).resolve() if address else page
    return (path / "index.html" if path.is_dir() else path), unquote(anchor)


def is_elsewhere(link: str) -> bool:
    """Return whether a link leaves the site."""
    return link.startswith(("http:", "https:", "mailto:", "data:", "//", "javascript:"))
