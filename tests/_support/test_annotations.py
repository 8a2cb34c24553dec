import numpy as np
import pytest

from holdfast import InputError, rule
from holdfast.core import bind
from holdfast.lab.choices import build_run


def annotated(
    *, rate: float = 0.1, width: int = 8, strict: bool = False, name: str = "a", z: float | None = None
):
    """Say by annotations what the settings are."""


def spelt(*, rate: "float" = 0.1, width: "int | None" = None):
    """Say it in text, as `from __future__ import annotations` does."""


def plain(*, rate=0.1, width=8, strict=False, name="a", anything=None):
    """Say it by defaults alone."""


@pytest.mark.parametrize(
    ("function", "wrong", "needed"),
    [
        (annotated, {"rate": "abc"}, "rate must be a number, such as 0.1; got 'abc'"),
        (annotated, {"rate": True}, "rate must be a number, such as 0.1; got True"),
        (annotated, {"rate": (1.0,)}, "rate must be a number"),
        (annotated, {"width": 2.5}, "width must be a whole number, such as 8; got 2.5"),
        (annotated, {"width": "nan"}, "width must be a whole number"),
        (annotated, {"strict": "yes"}, "strict must be True or False, such as False; got 'yes'"),
        (annotated, {"strict": 1}, "strict must be True or False"),
        (annotated, {"name": 3}, "name must be text, such as 'a'; got 3"),
        (annotated, {"z": "nan"}, "z must be a number; got 'nan'"),
        (spelt, {"rate": "abc"}, "rate must be a number"),
        (spelt, {"width": 2.5}, "width must be a whole number; got 2.5"),
        (plain, {"rate": "abc"}, "rate must be a number"),
        (plain, {"width": "abc"}, "width must be a number, such as 8; got 'abc'"),
        (plain, {"strict": 0.5}, "strict must be True or False"),
        (plain, {"name": False}, "name must be text"),
    ],
)
def test_a_setting_of_another_type_is_refused_when_it_is_set(function, wrong, needed):
    with pytest.raises(InputError, match=needed):
        bind(function, "loader", **wrong)


@pytest.mark.parametrize(
    ("function", "fine"),
    [
        (annotated, {"rate": np.float32(0.5), "width": np.int64(3), "strict": np.True_, "z": 2}),
        (annotated, {"rate": None, "width": None, "strict": None, "name": None}),
        (spelt, {"rate": 1, "width": 3}),
        (plain, {"rate": 1, "width": 2.5, "anything": "text"}),
    ],
)
def test_what_fits_and_none_are_kept_as_given(function, fine):
    assert dict(bind(function, "loader", **fine).settings).items() >= fine.items()


def test_a_default_is_never_refused():
    @rule
    def odd(updates, *, share: float = "auto"):  # type: ignore[assignment]
        return updates

    assert str(odd(share="auto")) == "odd(share='auto')"


@pytest.mark.parametrize(
    ("settings", "needed"),
    [({"lr": "abc"}, "lr must be a number"), ({"small_cnn.side": 2.5}, "side must be a whole number")],
)
def test_a_setting_of_a_run_is_refused_before_it_starts(settings, needed):
    with pytest.raises(InputError, match=needed):
        build_run("digits", settings=settings)
