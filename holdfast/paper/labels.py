"""What tells runs apart that share a name: the settings and the code in which they differ."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["differences", "labels"]

#: A function as descriptions spell it: name(settings)#digest, the digest for one of the user's own.
FUNCTION = re.compile(r"(?P<name>[^(]+)\((?P<settings>.*)\)(?P<code>#\w+)?", re.DOTALL)
DIGEST = re.compile(r"#[0-9a-f]{8}\b")


def differences(descriptions: Sequence[Any], *, but: Sequence[str] = ()) -> list[list[str]]:
    """Return of each description, in words, what is not the same in all of them; fields in `but` apart.

    >>> differences([{"train": "sgd(lr=0.1)", "n_root": 10}, {"train": "sgd(lr=0.2)", "n_root": 10}])
    [['lr=0.1'], ['lr=0.2']]
    """
    found = [
        {field: value for field, value in _parts(one).items() if field not in but} for one in descriptions
    ]
    fields = dict.fromkeys(field for parts in found for field in parts)
    differing = [field for field in fields if len({parts.get(field) for parts in found}) > 1]
    return [[parts[field] for field in differing if field in parts] for parts in found]


def labels(descriptions: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return a label for each description: its name, with what differs where several have it.

    >>> labels({"a": {"name": "calm", "aggregate": "calm(x=1)"}, "b": {"name": "rfa"}})
    {'a': 'calm', 'b': 'rfa'}
    >>> labels({key: {"name": "calm", "aggregate": f"calm(x=1)#{key}"} for key in ("276abaf1", "0c5ecaf7")})
    {'276abaf1': 'calm (#276abaf1)', '0c5ecaf7': 'calm (#0c5ecaf7)'}
    """
    by_name: dict[str, list[str]] = {}
    for key, description in descriptions.items():
        by_name.setdefault(str(description["name"]), []).append(key)
    found = {}
    for name, keys in by_name.items():
        for key, words in zip(keys, differences([descriptions[key] for key in keys]), strict=True):
            short = [word.removeprefix(name) if word.startswith(f"{name}#") else word for word in words]
            found[key] = f"{name} ({', '.join(short)})" if short else name
    return found


def _parts(value: Any, field: str = "") -> dict[str, str]:
    """Return all that a description says, [where] in words, each setting of a function by itself."""
    if isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        inside = (_parts(item, f"{field}.{key}" if field else str(key)) for key, item in items)
        return {where: text for parts in inside for where, text in parts.items()}
    last = field.rpartition(".")[2]
    function = FUNCTION.fullmatch(value) if isinstance(value, str) else None
    if function is None or last == "rounds":  # a range of rounds is spelt like a function
        return {field: f"no {last}" if value is None else f"{last}={value}"}
    name, code = function["name"], "".join(DIGEST.findall(value))
    settings = {f"{field}.{key}": f"{key}={text}" for key, text in _settings(function["settings"]).items()}
    return {field: name, **settings, **({f"{field}#": f"{name}{code}"} if code else {})}


def _settings(text: str) -> dict[str, str]:
    """Return the settings of a function, as they are spelt; all as one where they cannot be told apart."""
    try:
        call = ast.parse(f"function({DIGEST.sub('', text)})", mode="eval").body
    except SyntaxError:
        return {"settings": text}
    keywords = call.keywords if isinstance(call, ast.Call) else []
    return {str(keyword.arg): ast.unparse(keyword.value) for keyword in keywords}
