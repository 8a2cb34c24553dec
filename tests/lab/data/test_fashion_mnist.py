import gzip
import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest

from holdfast import InputError
from holdfast.errors import DataError
from holdfast.lab.data import fashion_mnist, installs, store
from holdfast.lab.data.download import Remote
from holdfast.lab.data.fashion_mnist import CLASSES, FASHION_MNIST, read_idx
from holdfast.lab.data.images import PARTS
from holdfast.lab.data.sources import SOURCES, DataSource
from holdfast.lab.data.store import get, verify

from .folder import FASHION

RNG = np.random.default_rng(0)
LABELS = (np.arange(40) % 10).astype(np.uint8)
MADE_UP = {
    "train_images": RNG.integers(0, 256, size=(40, 28, 28), dtype=np.uint8),
    "train_labels": LABELS,
    "test_images": RNG.integers(0, 256, size=(40, 28, 28), dtype=np.uint8),
    "test_labels": LABELS[::-1].copy(),
}


def idx(array, *, kind=8, zeros=0, shape=None):
    shape = array.shape if shape is None else shape
    return struct.pack(f">HBB{len(shape)}I", zeros, kind, len(shape), *shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty data folder; a package of made-up images, as if published, is the only source."""
    folder, package = tmp_path / "data", tmp_path / "package"
    package.mkdir()
    monkeypatch.setenv("HOLDFAST_DATA", str(folder))
    remotes = []
    for part, array in MADE_UP.items():
        (package / f"{part}.gz").write_bytes(gzip.compress(idx(array)))
        remotes.append(Remote(f"debian:made-up:{package / part}.gz", 100_000))
    source = DataSource("debian", installs.install_fashion_mnist, tuple(remotes))
    entry = replace(SOURCES["fashion-mnist"], sources=(source,))
    monkeypatch.setattr(store, "SOURCES", {"fashion-mnist": entry})
    sums = {part: hashlib.sha256(array.data).hexdigest() for part, array in MADE_UP.items()}
    monkeypatch.setattr(installs, "FASHION_MNIST", FASHION_MNIST._replace(sums=sums))
    return folder


def test_four_files_are_installed_and_loaded_as_images_between_0_and_1(folder):
    files = get("fashion-mnist")
    assert sorted(path.name for path in files) == sorted(f"fashion_mnist_{part}.npy" for part in PARTS)
    data = fashion_mnist(n_train=20, n_test=10)
    assert data.x_train.shape == (20, 1, 28, 28)
    assert data.x_train.dtype == np.float32
    np.testing.assert_allclose(data.x_train[:, 0] * 255, MADE_UP["train_images"][:20], atol=1e-4)
    np.testing.assert_array_equal(data.y_train, MADE_UP["train_labels"][:20])
    np.testing.assert_allclose(data.x_test[:, 0] * 255, MADE_UP["test_images"][:10], atol=1e-4)
    np.testing.assert_array_equal(data.y_test, MADE_UP["test_labels"][:10])
    assert set(verify(SOURCES["fashion-mnist"]).values()) == {"as installed"}
    assert sorted(path.name for path in folder.iterdir()) == ["SHA256SUMS", *sorted(p.name for p in files)]


def test_other_images_than_the_published_are_refused_and_leave_nothing_behind(folder, monkeypatch):
    monkeypatch.setattr(installs, "FASHION_MNIST", FASHION_MNIST)
    with pytest.raises(DataError, match=r"train_images of shape \(40, 28, 28\) are not those that were"):
        get("fashion-mnist")
    assert list(folder.iterdir()) == []


IMAGES = MADE_UP["train_images"]
WHOLE = gzip.compress(idx(IMAGES))

#: What a file may be, and why it is refused.
BAD = {
    "not gzip": (idx(IMAGES), "is not a whole IDX file in gzip: Not a gzipped file"),
    "empty": (b"", "is not a whole IDX file in gzip: unpack requires"),
    "broken off": (WHOLE[:-3000], "is not a whole IDX file in gzip: Compressed file ended"),
    "a changed bit": (WHOLE[:5000] + bytes([WHOLE[5000] ^ 8]) + WHOLE[5001:], "(?s)IDX file in gzip: .+"),
    "a header alone": (gzip.compress(struct.pack(">HBB", 0, 8, 3)), "in gzip: unpack requires"),
    "other numbers": (gzip.compress(idx(IMAGES, kind=13)), "1 to 47,040,000 unsigned bytes; got type 13"),
    "another magic": (gzip.compress(idx(IMAGES, zeros=7)), "1 to 47,040,000 unsigned bytes"),
    "no numbers": (gzip.compress(idx(IMAGES[:0])), r"got type 8 and shape \(0, 28, 28\)"),
    "a claim of terabytes": (
        gzip.compress(idx(IMAGES, shape=(2**32 - 1,) * 3)),
        r"got type 8 and shape \(42",
    ),
    "fewer bytes": (gzip.compress(idx(IMAGES[:-1], shape=IMAGES.shape)), "stands for 31,360 bytes; it has"),
    "a bomb": (gzip.compress(idx(IMAGES) + bytes(10**7)), "stands for 31,360 bytes; it has fewer or more"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_no_such_array_is_refused(case, tmp_path):
    content, why = BAD[case]
    (tmp_path / "a.gz").write_bytes(content)
    with pytest.raises(DataError, match=why):
        read_idx(tmp_path / "a.gz")


def test_a_whole_file_is_read(tmp_path):
    (tmp_path / "a.gz").write_bytes(WHOLE)
    np.testing.assert_array_equal(read_idx(tmp_path / "a.gz"), IMAGES)


@pytest.mark.parametrize(
    ("part", "array"),
    [
        ("train_images", IMAGES.astype(np.float32)),
        ("train_images", IMAGES[:39]),
        ("test_images", IMAGES[:, :27]),
        ("test_labels", LABELS + 1),
        ("test_labels", LABELS.reshape(40, 1)),
    ],
)
def test_arrays_that_are_not_images_and_labels_are_refused(folder, part, array):
    get("fashion-mnist")
    np.save(folder / f"fashion_mnist_{part}.npy", array)
    with pytest.raises(DataError, match=r"must be bytes of shape \('n', 28, 28\), and its labels n bytes"):
        fashion_mnist(n_train=20, n_test=10)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"no array"])
def test_a_damaged_array_is_refused(folder, content):
    get("fashion-mnist")
    (folder / "fashion_mnist_test_images.npy").write_bytes(content)
    with pytest.raises(
        DataError, match=r"fashion_mnist_test_images\.npy must hold an array: .*; get it again"
    ):
        fashion_mnist(n_train=20, n_test=10)


def test_a_pickle_in_place_of_an_array_is_not_loaded(folder):
    get("fashion-mnist")
    np.save(folder / "fashion_mnist_test_labels.npy", np.array([print], dtype=object))
    with pytest.raises(DataError, match="must hold an array"):
        fashion_mnist(n_train=20, n_test=10)


def test_without_the_files_it_says_what_to_do(folder):
    with pytest.raises(DataError, match=r"\(Fashion-MNIST\) in .*'holdfast data get fashion-mnist'"):
        fashion_mnist()
    for path in get("fashion-mnist"):
        if "test_labels" in path.name:
            path.unlink()
    with pytest.raises(DataError, match=r"test_labels\.npy must hold an array: .*No such file"):
        fashion_mnist(n_train=20, n_test=10)


@pytest.mark.parametrize("settings", [{"n_train": 60_010}, {"n_train": 55}, {"n_test": 0}])
def test_counts_that_cannot_be_had_are_refused(settings):
    with pytest.raises(InputError, match="n_t"):
        fashion_mnist(**settings)


def test_without_a_network_it_names_the_package_and_the_files(folder, monkeypatch):
    gone = Remote("debian:dataset-fashion-mnist:/no/train-images-idx3-ubyte.gz", 1)
    entry = replace(
        SOURCES["fashion-mnist"], sources=(DataSource("debian", installs.install_fashion_mnist, (gone,)),)
    )
    monkeypatch.setattr(store, "SOURCES", {"fashion-mnist": entry})
    with pytest.raises(DataError) as error:
        get("fashion-mnist")
    assert "train-images-idx3-ubyte.gz  (from: apt install dataset-fashion-mnist)" in str(error.value)


@FASHION
def test_the_real_images_are_those_that_were_published(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    get("fashion-mnist", source="debian")
    data = fashion_mnist(n_train=1_000, n_test=1_000)
    assert data.checksum == "21ce54592e721032b95309ad41ac0de3137c4b0d5d7f2e574bb4f092bac0d873"
    assert data.n_classes == len(CLASSES)
