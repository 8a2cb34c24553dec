import subprocess
import sys

import pytest

from holdfast._support.keys import key_of


def test_a_key_does_not_depend_on_the_process_or_on_the_order_of_names():
    code = "from holdfast._support.keys import key_of; print(key_of({'b': [1.0, None], 'a': {'α': 'x'}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == key_of({"a": {"α": "x"}, "b": [1.0, None]})


def test_every_value_counts():
    assert len({key_of({"a": value}) for value in (1, 1.0, True, "1", None, [1])}) == 6


def test_what_is_no_plain_value_is_refused():
    with pytest.raises(TypeError):
        key_of({"a": object()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        key_of({"a": float("nan")})
