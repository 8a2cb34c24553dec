"""A Ray cluster, joined for a while. Ray comes with the extra `ray`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InputError
from .extras import install

__all__ = ["connected"]


@contextmanager
def connected(address: str) -> Iterator[int]:
    """Join a Ray cluster, "ray" for one on this machine, and leave it at the end; yield its number of cores.

    A cluster that the process has joined already is used, and not left.

    >>> with connected("mosix://host"):
    ...     pass
    Traceback (most recent call last):
    holdfast.errors.InputError: workers must be "ray" or a cluster's address, ray://host:10001; got 'mosix://host'
    """
    if address != "ray" and not address.startswith("ray://"):
        raise InputError(f'workers must be "ray" or a cluster\'s address, ray://host:10001; got {address!r}')
    try:
        import ray
    except ImportError:
        raise InputError(f"workers on Ray need the package; {install('ray')}") from None
    is_ours = not ray.is_initialized()
    if is_ours:
        try:
            where = {"include_dashboard": False} if address == "ray" else {"address": address}
            ray.init(log_to_driver=False, **where)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InputError(f"no Ray cluster at {address!r}: {error}") from None
    try:
        cluster: Any = ray
        yield max(1, int(cluster.cluster_resources().get("CPU", 1)))
    finally:
        if is_ours:
            ray.shutdown()
