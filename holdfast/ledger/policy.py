"""What happens on a verdict, as an operator writes it down in a TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from .._support.counting import is_number
from .._support.lookup import nearest
from .._support.signatures import settings_of
from ..core import Watch
from ..errors import DataError, InputError

__all__ = ["Policy", "read_policy"]

Action = Literal["report", "ask", "expel", "stop"]
Answer = Literal["expel", "keep", "stop"]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What happens when a watch has enough evidence against a client.

    `on_verdict` is "report" (say so, and change nothing), "ask" (hold the round until the operator bans or
    pardons the client, for at most `timeout` seconds, then do what `otherwise` says), "expel" (the watch
    silences it), or "stop" (the training ends with the model from before that round).

    >>> Policy(on_verdict="ask", timeout=600).otherwise
    'expel'
    """

    on_verdict: Action = "expel"
    timeout: float = 3600.0  # seconds
    otherwise: Answer = "expel"

    def __post_init__(self) -> None:
        """Check what is set."""
        for name, known in (("on_verdict", get_args(Action)), ("otherwise", get_args(Answer))):
            given = getattr(self, name)
            if given not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}; got {given!r}")
        if not is_number(self.timeout) or self.timeout < 0:
            raise InputError(f"timeout, in seconds, must be a number of at least 0; got {self.timeout!r}")

    def applied_to(self, watch: Watch) -> Watch:
        """Return the watch in the mode that this policy needs: one that reports leaves decisions to others.

        >>> from holdfast import factions
        >>> dict(Policy(on_verdict="ask").applied_to(factions()).settings)["mode"]
        'report'
        """
        if self.on_verdict == "stop" or "mode" not in settings_of(watch.function, watch.role):
            return watch
        if self.on_verdict != "expel":
            return watch(mode="report")
        # A wary watch expels, too: it must not become less strict by a policy that asks for that.
        return watch(mode="expel") if dict(watch.settings)["mode"] == "report" else watch


def read_policy(given: "str | Path | Policy | Mapping[str, Any]") -> Policy:
    """Return the policy in a TOML file, or what was given as one.

    >>> read_policy({"on_verdict": "stop"}).on_verdict
    'stop'
    >>> read_policy({"on_verdit": "stop"})
    Traceback (most recent call last):
    holdfast.errors.InputError: a policy has no 'on_verdit'; did you mean 'on_verdict'?
    """
    if isinstance(given, Policy):
        return given
    if isinstance(given, Mapping):
        return _made_of(given, "a policy")
    path = Path(given)
    try:
        with path.open("rb") as file:
            return _made_of(tomllib.load(file), str(path))
    except OSError as error:
        raise DataError(f"the policy {path} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"the policy {path} is not TOML: {error}") from None


def _made_of(given: Mapping[str, Any], where: str) -> Policy:
    known = [one.name for one in fields(Policy)]
    for name in given:
        if name not in known:
            raise InputError(f"{where} has no {name!r}; {nearest(name, known)}".strip())
    return Policy(**given)
