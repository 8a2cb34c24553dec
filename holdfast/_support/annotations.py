"""The type of a setting, read from its parameter: the annotation or, lacking one, the default."""

import inspect
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, get_args, get_origin

import numpy as np

from ..errors import InputError

__all__ = ["as_annotated"]


class _Kind(NamedTuple):
    words: str
    types: tuple[type, ...]

    def has(self, value: Any) -> bool:
        """Return whether a value is of this kind; True and False are no numbers."""
        return isinstance(value, self.types) and (self is _FLAG or not isinstance(value, bool))


_FLAG, _NUMBER = _Kind("True or False", (bool, np.bool_)), _Kind("a number", (Real,))
_WHOLE, _TEXT = _Kind("a whole number", (Integral,)), _Kind("text", (str,))
_ANNOTATED: Mapping[str, _Kind] = {"bool": _FLAG, "int": _WHOLE, "float": _NUMBER, "str": _TEXT}
_BY_DEFAULT: Mapping[type, _Kind] = {bool: _FLAG, int: _NUMBER, float: _NUMBER, str: _TEXT}  # 3 may mean 3.0


def as_annotated(parameter: inspect.Parameter, value: Any) -> Any:
    """Return 1 as 1.0 where a float is asked for, so that both are the same run; refuse what does not fit.

    >>> factor = inspect.Parameter("factor", inspect.Parameter.KEYWORD_ONLY, annotation=float)
    >>> as_annotated(factor, 2)
    2.0
    """
    annotation = parameter.annotation
    if get_origin(annotation) is Literal and value not in get_args(annotation):
        choices = ", ".join(map(str, get_args(annotation)))
        raise InputError(f"{parameter.name} must be one of {choices}; got {value!r}")
    kind = _kind(parameter)
    if not (kind is None or value is None or value is parameter.default or kind.has(value)):
        example = f", such as {parameter.default!r}" if kind.has(parameter.default) else ""
        raise InputError(f"{parameter.name} must be {kind.words}{example}; got {value!r}")
    return float(value) if annotation in (float, "float") and type(value) is int else value


def _kind(parameter: inspect.Parameter) -> _Kind | None:
    """Return what a setting must be; None where its parameter does not say, or says something else."""
    if parameter.annotation is parameter.empty:
        return _BY_DEFAULT.get(type(parameter.default))
    return _ANNOTATED.get(inspect.formatannotation(parameter.annotation).strip("'").removesuffix(" | None"))
