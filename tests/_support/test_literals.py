import pytest

from holdfast._support.literals import literal_settings
from holdfast.errors import InputError


@pytest.mark.parametrize("pair", ["tau", "=3", "tau=", "tau=1 +", "tau=__import__('os')", "tau=f()"])
def test_what_is_no_literal_is_refused_and_never_run(pair):
    with pytest.raises(InputError):
        literal_settings([pair])


def test_nothing_is_set_twice():
    with pytest.raises(InputError, match="tau is set twice"):
        literal_settings(["tau=1", "tau=2"])
