"""Settings as a command line gives them: key=value."""

import ast
from collections.abc import Iterable
from typing import Any

from ..errors import InputError

__all__ = ["literal_settings"]


def literal_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Return key=value pairs as a dictionary, the values read as Python literals; a bare word is a string.

    >>> literal_settings(["tau=0.6", "features=(37, 38)", "pool=turned"])
    {'tau': 0.6, 'features': (37, 38), 'pool': 'turned'}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not (equals and name and text):
            raise InputError(f"a setting is written key=value, as in tau=0.6; got {pair!r}")
        if name in settings:
            raise InputError(f"{name} is set twice")
        try:
            settings[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            if not text.replace("-", "_").replace("+", "_").isidentifier():
                raise InputError(f"{name} must be a Python literal or a word; got {text!r}") from None
            settings[name] = text
    return settings
