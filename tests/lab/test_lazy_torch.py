import subprocess
import sys

import pytest

from holdfast.lab.lazy_torch import functional, nn, torch

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None\n"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_what_is_used_is_torch_itself():
    import torch as eager

    assert torch.Tensor is eager.Tensor
    assert nn.Linear is eager.nn.Linear
    assert functional.relu is eager.nn.functional.relu
    with pytest.raises(AttributeError, match="no_such_name"):
        torch.no_such_name  # noqa: B018


@pytest.mark.parametrize("room", ["lab", "runs", "paper", "report"])
def test_a_room_is_imported_without_torch(room):
    done = run(
        f"import importlib, pkgutil, sys\nimport holdfast.{room} as room\n"
        f"for module in pkgutil.walk_packages(room.__path__, 'holdfast.{room}.'):\n"
        "    if '._' not in module.name: importlib.import_module(module.name)\n"
        "print('torch' in sys.modules)"
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_without_torch_a_network_says_what_to_install():
    done = run(
        WITHOUT_TORCH + "from holdfast.errors import HoldfastError\nfrom holdfast.lab.models import mlp\n"
        "try: mlp()\nexcept HoldfastError as error: print(error)"
    )
    assert "pip install '.[sim]'" in done.stdout
