import numpy as np
import pytest

from holdfast import InputError
from holdfast.errors import DataError
from holdfast.lab.data import phishing_urls, spambase, table

from .folder import needs


def written(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_table_is_shuffled_split_and_standardised(tmp_path):
    lines = [f"{i},{i % 2},{10 * i}" for i in range(50)]
    data = table(written(tmp_path, "\n".join(["id,spam,score", *lines])), label="spam", drop=("id",))
    assert data.x_train.shape == (40, 1)
    assert data.x_test.shape == (10, 1)
    x = np.concatenate([data.x_train, data.x_test]).ravel() * data.raw_scale + data.raw_mean
    y = np.concatenate([data.y_train, data.y_test])
    np.testing.assert_allclose(np.sort(x), 10 * np.arange(50), atol=1e-3)
    np.testing.assert_array_equal(np.rint(x / 10).astype(int) % 2, y)
    assert (np.diff(x[:40]) < 0).any()


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("a,b\n1,2\n3,4\n", "has no column spam; it has a, b"),
        ("a,spam\n1,2\n3\n", "all of one length: .* changed from 2 to 1 at row 2"),
        ("a,spam\n1,yes\n3,no\n", "rows of numbers, .* string 'yes'"),
        ("a,spam\n1,nan\n3,1\n", "must hold finite numbers"),
        ("a,b,spam\n1,2\n3,4\n", "it has 3 names and 2 columns"),
        ("a,spam\n", "at least two rows; it has 0 rows"),
        ("", "at least two rows; it has 0 rows"),
        ("a,sp\xe4m\n1,0\n3,1\n".encode("latin-1"), "rows of numbers, .* 'utf-8' codec can't decode"),
        ("a" * 200_000 + ",spam\n1,0\n3,1\n", "rows of numbers, .* field larger than field limit"),
        ("a,spam\n1,\x1b[31m\n3,no\n", r"rows of numbers, .*\\x1b\[31m"),
    ],
)
def test_a_table_that_cannot_be_read_says_what_is_wrong(tmp_path, text, needed):
    with pytest.raises(DataError, match=needed):
        table(written(tmp_path, text), label="spam")


def test_a_share_outside_its_range_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"between 0 and 1; got 1\.5"):
        table(written(tmp_path, "a,spam\n1,0\n2,1\n"), label="spam", test_share=1.5)


@pytest.mark.parametrize("load", [phishing_urls, spambase])
def test_without_the_folder_or_the_file_it_says_what_to_do(load, monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    with pytest.raises(DataError, match=rf"no \w+\.csv .* in {tmp_path}: get it with .*set HOLDFAST_DATA"):
        load()


@needs("phishing_legitimate_48.csv")
def test_the_phishing_addresses_are_all_there():
    data = phishing_urls()
    assert data.x_train.shape == (8000, 48)
    assert 0.48 < data.y_train.mean() < 0.52
    slashes = data.x_train[:, 23] * data.raw_scale[23] + data.raw_mean[23]
    assert 0 < (slashes[data.y_train == 1] > 0.5).mean() < 0.003


@needs("spambase_57.csv")
def test_the_spam_mails_are_all_there():
    data = spambase()
    assert len(data.y_train) + len(data.y_test) == 4601
    assert data.x_train.shape[1] == 57
    words = data.x_train[:, [13, 8]] * data.raw_scale[[13, 8]] + data.raw_mean[[13, 8]]
    assert ((words[data.y_train == 1] >= 3).mean(axis=0) < 0.002).all()
