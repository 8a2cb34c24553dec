import hashlib

import pytest

from holdfast.errors import DataError
from holdfast.lab.data.download import Remote, UnreachableError, fetch

from .server import serving

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def files():
    with serving() as files:
        files.content["/a.bin"] = CONTENT
        yield files


def remote(files, **known):
    return Remote(f"{files.address}/a.bin", **{"n_bytes": len(CONTENT), **known})


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_fetched_checked_and_named(files, tmp_path):
    seen = []
    known = remote(files, sha256=hashlib.sha256(CONTENT).hexdigest(), n_bytes=len(CONTENT))
    path = fetch(known, tmp_path / "new", seen=lambda *progress: seen.append(progress))
    assert path.read_bytes() == CONTENT
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert names(tmp_path / "new") == ["a.bin"]


def test_a_download_that_broke_off_resumes_where_it_was(files, tmp_path):
    files.breaks_after = 100_000
    with pytest.raises(UnreachableError, match=r"broke off after 100,000 of 256,000 bytes; run this again"):
        fetch(remote(files), tmp_path)
    assert names(tmp_path) == ["a.bin.part", "a.bin.tag"]
    files.breaks_after = None
    assert fetch(remote(files), tmp_path).read_bytes() == CONTENT
    assert files.asked == [None, "bytes=100000-"]
    assert names(tmp_path) == ["a.bin"]


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(files, tmp_path):
    files.breaks_after = 100_000
    with pytest.raises(UnreachableError):
        fetch(remote(files), tmp_path)
    files.breaks_after, files.version, files.content["/a.bin"] = None, '"2"', CONTENT[::-1]
    assert fetch(remote(files), tmp_path).read_bytes() == CONTENT[::-1]


def test_a_part_without_a_version_is_not_resumed(files, tmp_path):
    files.version, files.breaks_after = None, 100_000
    with pytest.raises(UnreachableError):
        fetch(remote(files), tmp_path)
    files.breaks_after = None
    assert fetch(remote(files), tmp_path).read_bytes() == CONTENT
    assert files.asked == [None, None]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(files, tmp_path):
    (tmp_path / "a.bin.part").write_bytes(CONTENT + b"more")
    (tmp_path / "a.bin.tag").write_text('"1"')
    assert fetch(remote(files), tmp_path).read_bytes() == CONTENT


def test_a_tampered_file_is_refused_and_removed(files, tmp_path):
    with pytest.raises(DataError, match=r"was refused and removed: its sha256 is \w+, and should be 0000"):
        fetch(remote(files, sha256="0" * 64), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("known", [{"n_bytes": 1000, "sha256": "0" * 64}, {"n_bytes": 500}])
@pytest.mark.parametrize("hides_length", [True, False])
def test_a_file_longer_than_it_should_be_is_refused_and_leaves_nothing(files, tmp_path, known, hides_length):
    files.hides_length = hides_length
    with pytest.raises(DataError, match="longer than the 1,000 bytes that it may have"):
        fetch(remote(files, **known), tmp_path)
    assert names(tmp_path) == []


def test_a_file_shorter_than_it_should_be_is_not_taken(files, tmp_path):
    files.hides_length, files.breaks_after = True, 5_000
    with pytest.raises(UnreachableError, match="broke off after 5,000 of 256,000"):
        fetch(remote(files, sha256="0" * 64), tmp_path)
    assert "a.bin" not in names(tmp_path)


@pytest.mark.parametrize("length", ["\xb2", "9" * 5000, "-1", "many"])
def test_a_length_that_is_no_number_is_none(files, tmp_path, length):
    files.claims_length = length
    assert fetch(remote(files), tmp_path).read_bytes() == CONTENT


def test_a_file_that_was_put_there_by_hand_is_taken_and_checked(files, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"by hand")
    known = remote(files, sha256=hashlib.sha256(b"by hand").hexdigest())
    assert fetch(known, tmp_path).read_bytes() == b"by hand"
    assert files.asked == []


def test_an_address_without_an_answer_is_named(files, tmp_path):
    with pytest.raises(UnreachableError, match="answers 404"):
        fetch(Remote(f"{files.address}/none", 1), tmp_path)
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:1/x cannot be reached: .*refused"):
        fetch(Remote("http://127.0.0.1:1/x", 1), tmp_path)


def test_without_npm_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnreachableError, match="npm is not installed"):
        fetch(Remote("npm:some-package@1.0.0", 1), tmp_path)


def test_a_file_of_an_installed_debian_package_is_copied_and_checked(tmp_path):
    (tmp_path / "b.gz").write_bytes(b"packed")
    address = f"debian:some-package:{tmp_path / 'b.gz'}"
    known = Remote(address, 6, hashlib.sha256(b"packed").hexdigest())
    path = fetch(known, tmp_path / "downloads")
    assert (path.name, path.read_bytes()) == ("b.gz", b"packed")
    assert names(tmp_path / "downloads") == ["b.gz"]
    with pytest.raises(DataError, match="was refused and removed"):
        fetch(Remote(address, 6, "0" * 64), tmp_path / "other")


def test_without_the_debian_package_it_says_how_to_install_it(tmp_path):
    with pytest.raises(UnreachableError, match=r"/no/c\.gz is not there; .*: apt install some-package"):
        fetch(Remote("debian:some-package:/no/c.gz", 1), tmp_path)
