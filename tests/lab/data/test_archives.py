import gzip
import io
import tarfile
import tracemalloc
import zipfile

import pytest

from holdfast.errors import DataError
from holdfast.lab.data.archives import open_archive


def tar_of(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(content), "/etc/passwd"
            archive.addfile(info, io.BytesIO(content))
    return path


def plain(name, content=b"hello"):
    return name, content, tarfile.REGTYPE


@pytest.mark.parametrize("name", ["../evil.txt", "/evil.txt", "a/../../evil.txt", "a\\..\\..\\evil.txt"])
@pytest.mark.parametrize("form", ["tar", "zip"])
def test_a_path_that_leads_out_is_refused_before_anything_is_read(tmp_path, name, form):
    if form == "tar":
        path = tar_of(tmp_path / "a.tgz", plain("good.txt"), plain(name))
    else:
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("good.txt", "hello")
            archive.writestr(name, "evil")
    refused = pytest.raises(DataError, match=r"was refused: .*evil\.txt' leads out of the archive")
    with refused, open_archive(path, most_bytes=1000):
        pass
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path, kind):
    path = tar_of(tmp_path / "a.tgz", plain("good.txt"), ("link", b"", kind))
    with pytest.raises(DataError, match="'link' is a link or a device"), open_archive(path, most_bytes=1000):
        pass


def test_a_link_in_a_zip_is_refused(tmp_path):
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    refused = pytest.raises(DataError, match="'link' is a link or a device")
    with refused, open_archive(tmp_path / "a.zip", most_bytes=1000):
        pass


def test_more_bytes_or_files_than_may_be_are_refused(tmp_path):
    path = tar_of(tmp_path / "a.tgz", plain("zeros", bytes(5000)))
    with pytest.raises(DataError, match="holds more than 1,000 bytes"), open_archive(path, most_bytes=1000):
        pass
    path = tar_of(tmp_path / "b.tgz", *(plain(str(i), b"") for i in range(1002)))
    with pytest.raises(DataError, match="or 1000 files"), open_archive(path, most_bytes=1000):
        pass


def test_a_name_that_comes_twice_is_refused(tmp_path):
    path = tar_of(tmp_path / "a.tgz", plain("a"), plain("a", b"other"))
    with pytest.raises(DataError, match="holds 'a' twice"), open_archive(path, most_bytes=1000):
        pass


@pytest.mark.parametrize("name", ["a.tgz", "a.zip"])
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.95])
def test_a_truncated_archive_is_refused(tmp_path, name, keep):
    path, content = tmp_path / name, bytes(i * i % 251 for i in range(50_000))
    if name.endswith(".tgz"):
        tar_of(path, plain("data", content), plain("more", content[::-1]))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data", content)
            archive.writestr("more", content[::-1])
    raw = path.read_bytes()
    path.write_bytes(raw[: int(keep * len(raw))])
    with (
        pytest.raises(DataError, match="is not a whole archive"),
        open_archive(path, most_bytes=10**6) as archive,
    ):
        archive.read("more")


def test_a_file_that_is_not_there_is_named_with_those_that_are(tmp_path):
    path = tar_of(tmp_path / "a.tgz", plain("data/one"), ("data", b"", tarfile.DIRTYPE))
    with open_archive(path, most_bytes=1000) as archive:
        assert archive.read("data/one") == b"hello"
        with pytest.raises(DataError, match="has no data/two; it has data/one"):
            archive.read("data/two")


def long_header(path, kind, n_bytes):
    """Write an archive whose first member, a header, claims a name of so many bytes, all of them there."""
    info = tarfile.TarInfo("name")
    info.type, info.size = kind, n_bytes
    with gzip.open(path, "wb", compresslevel=1) as packed:
        packed.write(info.tobuf(tarfile.GNU_FORMAT))
        for _ in range(n_bytes // 10**6):
            packed.write(b"x" * 10**6)
    return path


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_is_longer_than_any_name_is_refused_before_it_is_read(tmp_path, kind):
    path = long_header(tmp_path / "a.tgz", kind, 50 * 10**6)
    tracemalloc.start()
    with pytest.raises(DataError, match="a header claims 50,000"), open_archive(path, most_bytes=10**9):
        pass
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_headers_that_follow_each_other_for_ever_are_refused(tmp_path):
    info = tarfile.TarInfo("name")
    info.type, info.size = tarfile.XHDTYPE, 0
    path = tmp_path / "a.tgz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) * 5000))
    with pytest.raises(DataError, match="is not a whole archive"), open_archive(path, most_bytes=10**9):
        pass


@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.REGTYPE, tarfile.XHDTYPE])
def test_a_size_below_nothing_leads_nowhere(tmp_path, kind):
    info = tarfile.TarInfo("name")
    info.type, info.size = kind, -512
    path = tmp_path / "a.tgz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) * 3))
    with pytest.raises(DataError), open_archive(path, most_bytes=10**9):
        pass


def test_a_long_name_is_still_a_name(tmp_path):
    path = tar_of(tmp_path / "a.tgz", plain("long/" * 50 + "name"))
    with open_archive(path, most_bytes=1000) as archive:
        assert archive.read("long/" * 50 + "name") == b"hello"


def marked(path, field, value):
    """Write a .zip with a good member in whose header one byte is another."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", b"hello")
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + field] = value
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [(8, 1, "is encrypted"), (10, 14, "is packed by method 14"), (10, 12, "is packed by method 12")],
)
def test_what_is_encrypted_or_packed_in_a_way_that_takes_gigabytes_is_refused(tmp_path, field, value, why):
    path = marked(tmp_path / "a.zip", field, value)
    with pytest.raises(DataError, match=f"was refused: 'data' {why}"), open_archive(path, most_bytes=1000):
        pass


@pytest.mark.parametrize("name", ["a.tgz", "a.zip"])
def test_no_damaged_byte_ends_in_anything_but_a_refusal(tmp_path, name):
    path = tmp_path / name
    if name.endswith(".tgz"):
        tar_of(path, plain("data"), plain("more", b"\xff" * 600))
        raw = gzip.decompress(path.read_bytes())
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data", b"hello")
            archive.writestr("m\xf6re", b"\xff" * 60)
        raw = path.read_bytes()
    n_refused = 0
    for place in range(min(len(raw), 2100)):
        damaged = bytearray(raw)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(gzip.compress(damaged, 0) if name.endswith(".tgz") else damaged)
        try:
            with open_archive(path, most_bytes=1000) as archive:
                [archive.read(member) for member in archive.members]
        except DataError:
            n_refused += 1
    assert n_refused > 100
