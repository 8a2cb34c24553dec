import sys

import pytest

from holdfast._support.printable import printable


@pytest.mark.parametrize(
    "wild",
    [
        "\x1b[31mred",
        "\ntwo lines",
        "\r\x08over",
        "\0",
        "\ud800",
        "\u202egnp.exe",
        "\u200b",
        "\U0010ffff",
    ],
)
def test_what_no_screen_should_get_is_escaped(wild):
    shown = printable(f"a{wild}b")
    assert shown.isprintable()
    assert shown.encode().startswith(b"a\\")
    assert shown.endswith("b")
    assert printable(shown) == shown


def test_names_in_any_script_stay_as_they_are():
    assert printable("Zoë Ångström 李 🦀 it's \\ fine") == "Zoë Ångström 李 🦀 it's \\ fine"


@pytest.mark.parametrize("given", ["x" * 900_000, "\U0010ffff" * 500, ["y"] * 1000, b"\xff" * 1000])
def test_nothing_is_longer_than_asked_for(given):
    assert len(printable(given)) == 80
    assert printable(given, limit=20).endswith("...")
    assert len(printable(given, limit=20)) == 20


def test_any_object_has_a_text():
    class Rude:
        def __str__(self):
            raise RuntimeError("no")

    nested = []
    for _ in range(10 * sys.getrecursionlimit()):
        nested = [nested]
    assert printable(Rude()) == "<Rude>"
    assert printable(10**5000) == "<int>"
    assert printable(nested) == "<list>"
    assert printable(None) == "None"
