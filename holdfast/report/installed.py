"""The optional packages that pages and figures are made with."""

from importlib.util import find_spec

from .._support.extras import install
from ..errors import InputError

__all__ = ["check_installed"]

#: The extra that each optional package comes with.
EXTRAS = {"jinja2": "report", "matplotlib": "report", "prometheus_client": "monitor", "torch": "sim"}


def check_installed(*packages: str) -> None:
    """Raise an InputError that says what to install if some of these optional packages are absent."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        extras = dict.fromkeys(EXTRAS[name] for name in missing)
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(f"{' and '.join(missing)} {verb} not installed; {install(*extras)}")
