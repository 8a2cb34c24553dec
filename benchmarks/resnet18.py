"""The shapes of ResNet-18's parameters, written down by how the network is built."""

from collections.abc import Iterator

__all__ = ["shapes"]

Shape = tuple[int, ...]


def shapes(width: int = 64, n_classes: int = 1000) -> dict[str, Shape]:
    """Return the name and shape of every trainable array; a smaller width makes a smaller network.

    >>> import math
    >>> sum(math.prod(shape) for shape in shapes().values())
    11689512
    """
    return dict(_arrays(width, n_classes))


def _arrays(width: int, n_classes: int) -> Iterator[tuple[str, Shape]]:
    yield "conv1.weight", (width, 3, 7, 7)
    yield from _norm("bn1", width)
    before = width
    for stage in range(4):
        channels = width << stage
        for block in range(2):
            name = f"layer{stage + 1}.{block}"
            yield f"{name}.conv1.weight", (channels, before, 3, 3)
            yield from _norm(f"{name}.bn1", channels)
            yield f"{name}.conv2.weight", (channels, channels, 3, 3)
            yield from _norm(f"{name}.bn2", channels)
            if before != channels:
                yield f"{name}.downsample.0.weight", (channels, before, 1, 1)
                yield from _norm(f"{name}.downsample.1", channels)
            before = channels
    yield "fc.weight", (n_classes, before)
    yield "fc.bias", (n_classes,)


def _norm(name: str, channels: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (channels,)
    yield f"{name}.bias", (channels,)
