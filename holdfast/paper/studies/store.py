"""One JSON file a study, named by all that determines it, with the version that made it."""

import hashlib
import json
import logging
import typing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from ... import __version__
from ..._support.atomic import write_whole
from ...core import Bound
from ...errors import DataError
from ...lab.scenario import Run
from ...lab.simulation import load_once

__all__ = ["load_or_make_study", "load_study", "study_path"]

log = logging.getLogger("holdfast")


def study_path(study: Bound[Any], run: Run, folder: Path) -> Path:
    """Return where the study of a run is.

    >>> from holdfast.lab.choices import build_run
    >>> from holdfast.core import bind
    >>> from holdfast.paper.studies import mimicry
    >>> path = study_path(bind(mimicry), build_run("digits", attack="edge-case"), Path("results"))
    >>> path.name.startswith("mimicry-"), path.suffix
    (True, '.json')
    """
    key = hashlib.sha256(f"{study!r} of {run.described}".encode()).hexdigest()[:16]
    return folder / f"{study.name}-{key}.json"


def load_or_make_study(study: Bound[Any], run: Run, folder: Path) -> Any:
    """Return the study of a run: read, or else made and written. Its clean runs are kept in the folder, too.

    >>> import tempfile
    >>> from holdfast.lab.choices import build_run
    >>> from holdfast.core import bind
    >>> from holdfast.paper.studies import gradient_histogram
    >>> study, folder = bind(gradient_histogram), Path(tempfile.mkdtemp())
    >>> run = build_run("digits", attack="edge-case", scale="smoke")
    >>> load_or_make_study(study, run, folder) == load_or_make_study(study, run, folder)
    True
    """
    path = study_path(study, run, folder)
    if path.exists():
        try:
            return load_study(study, run, folder)
        except DataError as error:
            log.warning("%s. The study is made anew", error)
    found = study(run, folder)
    text = json.dumps({**_made_by(study, run), "found": found.as_dict()}, allow_nan=False)
    write_whole(path, text.encode())
    return found


def load_study(study: Bound[Any], run: Run, folder: Path) -> Any:
    """Return what is stored of a study; a DataError if nothing is, or something else.

    >>> from holdfast.lab.choices import build_run
    >>> from holdfast.core import bind
    >>> from holdfast.paper.studies import mimicry
    >>> load_study(bind(mimicry), build_run("digits"), Path("nowhere"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.DataError: no study at nowhere...json
    """
    path = study_path(study, run, folder)
    if not path.is_file():
        raise DataError(f"no study at {path}")
    try:
        stored = json.loads(path.read_bytes())
        found = restored(typing.get_type_hints(study.function)["return"], stored.pop("found"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path} is no study, or a damaged one: {error}") from None
    for name, wanted in _made_by(study, run).items():
        if stored.get(name) != wanted:
            raise DataError(
                f"{path} is a study of something else: its {name} is {stored.get(name)!r}, not {wanted!r}"
            )
    return found


def restored(kind: Any, plain: Any) -> Any:
    """Return what was stored as plain lists and dictionaries in the type it had.

    >>> restored(tuple[float, ...], [1.0, 2.0])
    (1.0, 2.0)
    """
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        if set(plain) != {field.name for field in fields(kind)}:
            raise ValueError(f"it has the fields {', '.join(plain)}")
        return kind(**{name: restored(hints[name], value) for name, value in plain.items()})  # type: ignore[operator]
    if typing.get_origin(kind) is tuple:
        return tuple(restored(typing.get_args(kind)[0], value) for value in plain)
    simple = typing.get_origin(kind) or kind
    if not isinstance(plain, (float, int) if simple is float else simple):
        raise TypeError(f"{plain!r} is no {kind}")
    return plain


def _made_by(study: Bound[Any], run: Run) -> dict[str, str]:
    """Return what a study must have been made by and of."""
    return {
        "version": __version__,
        "study": repr(study),
        "run": run.described,
        "data": load_once(run.task.data).checksum,
    }
