import numpy as np
import pytest

from holdfast._support.ids import ids_as_bytes, ids_in, named


@pytest.mark.parametrize(
    ("client", "name"),
    [
        (7, 7),
        (np.int64(7), 7),
        (np.uint64(2**64 - 1), 2**64 - 1),
        ("7", "7"),
        (np.str_("é"), "é"),
        (True, "True"),
        (None, "None"),
        ((1, "a"), "(1, 'a')"),
        (b"x", "b'x'"),
        (1.5, "1.5"),
    ],
)
def test_an_id_is_remembered_as_a_number_or_as_text(client, name):
    assert named(client) == name
    assert type(named(client)) is type(name)


def test_ids_of_any_script_and_size_come_back_as_they_were():
    ids = (0, -3, 10**30, "é", "\ud800 lone", "0")
    assert ids_in(ids_as_bytes(ids)) == ids


@pytest.mark.parametrize("text", [b"", b"{}", b"[1.5]", b"[true]", b"[[1]]", b"[" * 100_000, b"\xff"])
def test_what_holds_no_ids_is_refused(text):
    with pytest.raises(ValueError, match="it has no ids"):
        ids_in(np.frombuffer(text, np.uint8))
