"""The paper's protocols on CIFAR-10, and tasks as others published them with numbers."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from .data import cifar10, cifar10_released, fashion_mnist, mnist
from .data.split import dirichlet
from .data.weights import RESNET18
from .models import resnet18, wide_cnn
from .models.lenet import lenet
from .scenario import Task
from .training import crop_and_flip, lean_sgd, mixed_sgd, sgd

__all__ = ["PAPER_NETWORK", "PRESETS", "PRESETS_SCALED", "RELEASED", "WARM_NETWORK"]

#: The paper's protocol on CIFAR-10: network, rate, batches, clients and skew. It starts from ImageNet weights
#: and has momentum 0.9 and no augmentation, as its released code; both kinds of images are scaled alike.
PAPER_NETWORK = Task(
    "cifar10-resnet18",
    partial(cifar10, n_test=2_000),
    partial(resnet18, weights=RESNET18),
    partial(mixed_sgd, lr=0.01, momentum=0.9),
    partial(dirichlet, alpha=0.5),
    n_rounds=100,
)

#: The released code to the letter: honest images from 0 to 255, edge cases from 0 to 1, and the statistics
#: of BatchNorm never sent. https://github.com/Xiaoyang-Wang/InvariantAggregator at b489505
RELEASED = replace(
    PAPER_NETWORK,
    name="cifar10-released",
    data=partial(cifar10_released, n_test=2_000),
    statistics="worker",
)

#: The same network where there are no weights: the server trains it first, on a fifth of the images, which
#: clients then do not have.
WARM_NETWORK = replace(
    PAPER_NETWORK,
    name="cifar10-resnet18-warm",
    model=resnet18,
    train=partial(mixed_sgd, lr=0.01),
    n_root=10_000,
    augment=crop_and_flip,
    warm_epochs=6,
    warm=partial(lean_sgd, lr=0.02, momentum=0.9),
)

#: The protocol of FDCR at its published size: 45,000 images for the clients, and 256 for the server. The
#: linear layers are those of a copy of their code, https://github.com/SundownMelon/FDCR-reproduction.
FDCR_CIFAR10 = Task(
    "fdcr-cifar10-full",
    partial(cifar10, n_train=45_260),
    partial(lenet, side=32, n_channels=3, hidden=(120, 84, 84, 256)),
    partial(sgd, lr=0.01, momentum=0.9),
    partial(dirichlet, alpha=0.5),
    epochs=10,
    n_clients=10,
    n_per_round=10,
    n_rounds=50,
    n_root=256,
    augment=crop_and_flip,
)

#: The same on Fashion-MNIST. Their code enlarges its images to 32 x 32 pixels in three equal channels.
FDCR_FASHION = replace(
    FDCR_CIFAR10,
    name="fdcr-fmnist",
    data=partial(fashion_mnist, n_train=54_260),
    model=partial(lenet, hidden=(120, 84, 84, 256)),
)

#: An entry of the IEEE GSC 2026 challenge, https://github.com/HetPatel1978/GSC26-Challenge1-316, without the
#: dropout before its last layer: a network that draws random numbers cannot repeat a result.
GSC = Task(
    "gsc-cifar10",
    cifar10,
    wide_cnn,
    partial(lean_sgd, lr=0.01, momentum=0.9),
    partial(dirichlet, alpha=0.5),
    epochs=2,
    batch_size=32,
    n_clients=20,
    n_per_round=10,
    n_rounds=30,
    n_root=500,
    augment=crop_and_flip,
)

#: The MNIST table of NeuroForensics, https://github.com/rem-max/NeuroForensics, with the network of PFLlib.
NEUROFORENSICS = Task(
    "neuroforensics-mnist",
    partial(mnist, n_train=52_600),
    partial(lenet, filters=(32, 64), hidden=(512,)),
    partial(lean_sgd, lr=0.01),
    partial(dirichlet, alpha=0.7),
    batch_size=10,
    n_clients=20,
    n_per_round=10,
    n_rounds=100,
)

#: By name. The four of others above have their published size at every scale but smoke. The rest have fewer
#: images and rounds, for a processor; the scale paper has all of them.
PRESETS: Mapping[str, Task] = MappingProxyType(
    {
        **{task.name: task for task in (PAPER_NETWORK, RELEASED, WARM_NETWORK)},
        **{task.name: task for task in (FDCR_CIFAR10, FDCR_FASHION, GSC, NEUROFORENSICS)},
        # https://github.com/samuele-lolli/Aggregation-Federated-Learning-Analysis, a client's validation
        # images left out. With a quarter of the images a round has a quarter of the steps, four times as
        # long.
        "flower-fmnist": Task(
            "flower-fmnist",
            partial(fashion_mnist, n_train=12_100, n_test=2_000),
            partial(lenet, filters=(16, 32), hidden=(128,)),
            partial(sgd, lr=0.04, momentum=0.9),
            batch_size=32,
            n_clients=10,
            n_per_round=10,
            n_rounds=40,
            augment=crop_and_flip,
        ),
        # FDCR (NeurIPS 2024), https://github.com/WenkeHuang/FDCR, table 4 of the paper.
        "fdcr-cifar10": Task(
            "fdcr-cifar10",
            partial(cifar10, n_train=10_260, n_test=2_000),
            partial(lenet, side=32, n_channels=3),
            partial(sgd, lr=0.01, momentum=0.9),
            partial(dirichlet, alpha=0.5),
            epochs=5,
            n_clients=10,
            n_per_round=10,
            n_rounds=30,
            n_root=256,
            augment=crop_and_flip,
        ),
    }
)

_SMALL_NETWORK: Mapping[str, Any] = {
    "data": partial(cifar10, n_train=1_000, n_test=200),
    "model": partial(resnet18, head=10, width=4),
}

#: What they become at another scale.
PRESETS_SCALED: Mapping[tuple[str, str], Mapping[str, Any]] = MappingProxyType(
    {
        (PAPER_NETWORK.name, "smoke"): _SMALL_NETWORK,
        (PAPER_NETWORK.name, "paper"): {"data": cifar10, "n_rounds": 300},
        (RELEASED.name, "smoke"): {
            **_SMALL_NETWORK,
            "data": partial(cifar10_released, n_train=1_000, n_test=200),
        },
        (RELEASED.name, "paper"): {"data": cifar10_released, "n_rounds": 300},
        (WARM_NETWORK.name, "smoke"): {**_SMALL_NETWORK, "warm_epochs": 1.0},
        (WARM_NETWORK.name, "paper"): {"data": cifar10, "n_rounds": 300},
        ("flower-fmnist", "smoke"): {
            "data": partial(fashion_mnist, n_train=400, n_test=100),
            "n_clients": 10,
        },
        ("flower-fmnist", "paper"): {
            "data": partial(fashion_mnist, n_train=48_100),
            "train": partial(sgd, lr=0.01, momentum=0.9),
        },
        ("fdcr-cifar10", "smoke"): {"data": partial(cifar10, n_train=400, n_test=100), "n_clients": 10},
        (FDCR_CIFAR10.name, "smoke"): {
            "data": partial(cifar10, n_train=400, n_test=100),
            "n_clients": 10,
            "epochs": 1.0,
        },
        (FDCR_FASHION.name, "smoke"): {
            "data": partial(fashion_mnist, n_train=400, n_test=100),
            "n_clients": 10,
            "epochs": 1.0,
        },
        (GSC.name, "smoke"): {
            "data": partial(cifar10, n_train=1_000, n_test=200),
            "model": partial(wide_cnn, widths=(4, 8, 8), hidden=16),
        },
        (NEUROFORENSICS.name, "smoke"): {
            "data": partial(mnist, n_train=1_000, n_test=200),
            "model": partial(lenet, hidden=(16,)),
        },
        ("fdcr-cifar10", "paper"): {"data": cifar10, "epochs": 10.0, "n_rounds": 50},
    }
)
