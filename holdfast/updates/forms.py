"""The form in which a server holds its model: one array, layers, a mapping of names, or any nesting of these.

Arrays that no rule may touch, such as counters and running statistics, are its buffers. They are told apart
by their names, or by not being floats.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np

from .._support.printable import printable
from ..errors import InputError
from .layout import FLOATS, Layer, Layout, Unfit, is_numbers

__all__ = ["BUFFERS", "Form", "Tree", "first_named", "is_named", "patterns_in"]

#: What BatchNorm's buffers are called in PyTorch, Keras and Flax.
BUFFERS = (
    "*running_mean",
    "*running_var",
    "*num_batches_tracked",
    "*moving_mean",
    "*moving_variance",
    "batch_stats.*",
)


def is_named(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name fits any of the patterns, in which * stands for anything.

    >>> is_named("layer1.0.bn1.running_var", BUFFERS), is_named("conv1.weight", BUFFERS)
    (True, False)
    """
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def patterns_in(buffers: Iterable[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns that buffers are named by; an InputError if one names no array of the model.

    Those of BUFFERS may: they are for models of every framework.

    >>> patterns_in("*mean", ["bn.mean", "w"])
    ('*mean',)
    """
    patterns = (buffers,) if isinstance(buffers, str) else tuple(buffers)
    for pattern in patterns:
        if pattern in BUFFERS or any(is_named(name, [pattern]) for name in names):
            continue
        near = any(is_named(name, [f"*{pattern}*"]) for name in names)
        raise InputError(
            f"buffers: no array of the model is named {pattern!r}"
            + (f"; did you mean '*{pattern}*'?" if near else ".")
            + f" There are: {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}"
        )
    return patterns


@dataclass(frozen=True, eq=False)
class Tree:
    """The nesting around a model's arrays; without parts, one array.

    >>> import numpy as np
    >>> tree = Tree.of({"conv": {"weight": np.ones(2)}, "heads": [np.zeros(1), np.ones(1)]})
    >>> tree.paths
    ('conv.weight', 'heads.0', 'heads.1')
    >>> tree.built(["a", "b", "c"])
    {'conv': {'weight': 'a'}, 'heads': ['b', 'c']}
    """

    kind: Any = None  # None: an array; a type of container; or JAX's description of a node that only it knows
    names: tuple[Any, ...] = ()
    parts: "tuple[Tree, ...]" = ()

    @classmethod
    def of(cls, given: Any) -> "Tree":
        """Return the nesting of what the server holds."""
        if isinstance(given, Mapping):
            return cls(type(given), tuple(given), tuple(cls.of(part) for part in given.values()))
        if isinstance(given, list | tuple) and not is_numbers(given):
            return cls(type(given), tuple(range(len(given))), tuple(cls.of(part) for part in given))
        if not hasattr(given, "__array__") and "jax" in sys.modules and not is_numbers(given):
            leaves, form = sys.modules["jax"].tree.flatten(given)
            if leaves and leaves[0] is not given:
                return cls(form, tuple(range(len(leaves))), tuple(cls() for _ in leaves))
        return cls()

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The name of every array, with dots between the levels; empty for a single array."""
        if self.kind is None:
            return ("",)
        inner = (
            (name, path) for name, part in zip(self.names, self.parts, strict=True) for path in part.paths
        )
        return tuple(f"{name}.{path}" if path else str(name) for name, path in inner)

    def leaves(self, given: Any) -> list[Any]:
        """Return the arrays of what somebody sent, in order; raise Unfit if its nesting is another."""
        if self.kind is None:
            if isinstance(given, Mapping) or (isinstance(given, list | tuple) and not is_numbers(given)):
                raise Unfit(f"wrong form: {_described(given)}, not one array")
            return [given]
        if not isinstance(self.kind, type):  # a node of JAX's
            found, form = sys.modules["jax"].tree.flatten(given)
            if form != self.kind:
                raise Unfit(f"wrong form: {_described(given)}, not the tree of the server's model")
            return list(found)
        inner: Sequence[Any]
        if issubclass(self.kind, Mapping):
            inner = self._values(given)
        elif not isinstance(given, list | tuple) or (is_numbers(given) and len(given) != len(self.parts)):
            raise Unfit(f"wrong form: {_described(given)}, not a list of layers")
        elif len(given) != len(self.parts):
            raise Unfit(f"wrong number of layers: {len(given)}, not {len(self.parts)}")
        else:  # numbers, too: a layer of no dimensions, once computed with, is one
            inner = given
        leaves: list[Any] = []
        for part, own in zip(self.parts, inner, strict=True):
            if part.kind is None and type(own) is np.ndarray:  # the usual case, and models may have many
                leaves.append(own)
            else:
                leaves.extend(part.leaves(own))
        return leaves

    def _values(self, given: Any) -> list[Any]:
        if not isinstance(given, Mapping):
            raise Unfit(f"wrong form: {_described(given)}, not a mapping of names to arrays")
        missing = [name for name in self.names if name not in given]
        if missing:
            raise Unfit(f"lacks {first_named(missing)}")
        if len(given) != len(self.names):
            known = set(self.names)
            foreign = [name for name in given if name not in known]
            raise Unfit(f"holds {first_named(foreign)}, unlike the server's model")
        return [given[name] for name in self.names]

    def built(self, leaves: Sequence[Any]) -> Any:
        """Return these arrays, as many as there are paths, in the nesting."""
        return self._taken(iter(leaves))

    def _taken(self, leaves: Any) -> Any:
        if self.kind is None:
            return next(leaves)
        parts = [part._taken(leaves) for part in self.parts]
        kind = self.kind
        if not isinstance(kind, type):
            return sys.modules["jax"].tree.unflatten(kind, parts)
        if issubclass(kind, Mapping):
            named = dict(zip(self.names, parts, strict=True))
            return named if kind is dict else _made(kind, named)
        make: Any = kind
        return make(*parts) if hasattr(kind, "_fields") else make(parts)


@dataclass(frozen=True, eq=False)
class Form:
    """The form of a server's model: its nesting, and which of the arrays are parameters, which are buffers.

    >>> import numpy as np
    >>> form, params, buffers = Form.read({"w": np.ones(2), "bn.num_batches_tracked": np.array(3)})
    >>> form.layout.dim, buffers
    (2, {'bn.num_batches_tracked': array(3)})
    >>> form.joined([np.zeros(2)], buffers)
    {'w': array([0., 0.]), 'bn.num_batches_tracked': array(3)}
    """

    tree: Tree
    layout: Layout  # of the parameters
    is_buffer: tuple[bool, ...]  # [array of the tree]

    @classmethod
    def read(
        cls, model: Any, *, buffers: Iterable[str] = BUFFERS, name: str = "base"
    ) -> "tuple[Form, tuple[Any, ...], dict[str, Any]]":
        """Return the form of a model of the server's, the numbers of its parameters, and its buffers."""
        tree = Tree.of(model)
        if tree.kind is None and callable(getattr(model, "state_dict", None)):
            raise InputError(f"{name} must hold arrays; got {type(model).__name__}: pass its .state_dict()")
        patterns = patterns_in(buffers, tree.paths)
        layers, arrays, is_buffer, others = [], [], [], {}
        for path, leaf in zip(tree.paths, tree.leaves(model), strict=True):
            try:
                layer, values = Layer.read(leaf, floats_only=False)
            except Unfit as reason:
                raise InputError(f"{name}{f', {path!r}' if path else ''}: {reason}") from None
            except Exception as error:  # of a library: float8, quantised and sparse tensors, say
                raise InputError(
                    f"{name}{f', {path!r}' if path else ''}: it must be a dense array of one of"
                    f" {', '.join(FLOATS)}, or of whole numbers; reading it failed: {error}"
                ) from None
            is_buffer.append(is_named(path, patterns) or (bool(path) and layer.type_name not in FLOATS))
            if is_buffer[-1]:
                others[path] = leaf
            elif layer.type_name not in FLOATS:
                raise InputError(f"{name}: wrong type: {layer.type_name}, not one of {', '.join(FLOATS)}")
            else:
                layers.append(layer)
                arrays.append(values)
        names = tuple(path for path, other in zip(tree.paths, is_buffer, strict=True) if not other)
        is_named_tree = any(not name.isdecimal() for name in names)
        layout = Layout(tuple(layers), tree.kind is None, names=names if is_named_tree else ())
        if layout.dim == 0:
            raise InputError(f"{name} holds no numbers that a rule could aggregate: {layout.described}")
        return cls(tree, layout, tuple(is_buffer)), tuple(arrays), others

    def split(self, given: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return the parameters and the buffers of what somebody sent; raise Unfit if its form is another."""
        leaves = self.tree.leaves(given)
        named = list(zip(self.tree.paths, leaves, self.is_buffer, strict=True))
        return [leaf for _, leaf, is_buffer in named if not is_buffer], {
            path: leaf for path, leaf, is_buffer in named if is_buffer
        }

    def accept(self, given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the numbers of the parameters, checked against the server's shapes, and the buffers."""
        try:
            params, buffers = self.split(given)
        except Unfit:
            raise
        except Exception as error:  # a stranger's object may fail in any way when it is read
            raise Unfit(f"cannot be read: {type(error).__name__}") from None
        return self.layout.accept(params[0] if self.layout.is_single else params), buffers

    def joined(self, params: Sequence[Any], buffers: Mapping[str, Any]) -> Any:
        """Return parameters and buffers in the form of the server's model."""
        rest = iter(params)
        paths = zip(self.tree.paths, self.is_buffer, strict=True)
        return self.tree.built([buffers[path] if is_buffer else next(rest) for path, is_buffer in paths])


def _made(kind: Any, named: dict[Any, Any]) -> Any:
    """Return a mapping of the server's own kind, or a plain one if that cannot be made of a dict."""
    try:
        return kind(named)
    except TypeError:
        return named


def _described(given: Any) -> str:
    if isinstance(given, list | tuple) and not is_numbers(given):
        return f"a list of {len(given)}"
    if isinstance(given, Mapping):
        return f"a mapping of {len(given)} names"
    return "one array" if hasattr(given, "__array__") or is_numbers(given) else type(given).__name__


def first_named(names: Sequence[Any]) -> str:
    """Return the first of some names, cut short, and how many more there are."""
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"'{printable(names[0])}'{others}"
