"""The paths of a round: each has one role, and what is written replaces no link."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..errors import InputError

__all__ = ["check_roles"]

#: What is written. The output may be the base itself.
WRITTEN = {"the output", "the state"}
ALLOWED = {"the base", "the output"}


def check_roles(clients: Sequence[Path], own: Mapping[str, Path | None]) -> None:
    """Raise, before any work is done, if one path has two roles or if a link would be replaced.

    >>> check_roles([Path("ann")], {"the output": Path("next"), "the state": Path("./next")})
    Traceback (most recent call last):
    holdfast.errors.InputError: the output and the state are the same path, next: each needs its own
    """
    seen: dict[Path, str] = {}
    for role, path, real in _resolved(clients, own):
        if role in WRITTEN and path.is_symlink():
            raise InputError(
                f"{role}, {path}, is a symbolic link, which would be replaced: name the file itself"
            )
        other = seen.setdefault(real, role)
        if other != role and {other, role} != ALLOWED:
            raise InputError(f"{other} and {role} are the same path, {path}: each needs its own")


def _resolved(clients: Sequence[Path], own: Mapping[str, Path | None]) -> Iterator[tuple[str, Path, Path]]:
    for role, path in own.items():
        if path is not None:
            yield role, path, path.resolve()
    for path in clients:  # a client's link is not followed: it may point to anything
        yield "a client", path, path.parent.resolve() / path.name
