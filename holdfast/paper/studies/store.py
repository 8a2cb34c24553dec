"""Studies in the store: entries beside those of runs, known by the study with its settings and by the run."""

import logging
import types
import typing
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from ..._support.counting import is_number
from ..._support.keys import key_of
from ...core import Bound
from ...errors import DataError
from ...lab.scenario import Run
from ...runs import store
from ...runs.recording import check_data, data_checksum
from ..experiment import runs_folder

__all__ = [
    "list_studies",
    "load_or_make_study",
    "load_study",
    "pack_studies",
    "studies_folder",
    "study_description",
]

log = logging.getLogger("holdfast")


def studies_folder(folder: Path) -> Path:
    """Return where a folder of results keeps studies."""
    return folder / "studies"


def study_description(study: Bound[Any], run: Run) -> dict[str, Any]:
    """Return all that determines a study."""
    return {"study": study.identity, "run": run.description}


def load_or_make_study(
    study: Bound[Any], run: Run, folder: Path, *, progress: Callable[[int, str], None] | None = None
) -> Any:
    """Return the study of a run: read, or else made and written. Its clean runs are stored like others."""
    found, unusable = _find_study(study, run, folder)
    for reason in unusable:
        log.warning("%s", reason)
    if found is None:
        found = study(run, runs_folder(folder), progress=progress)
        description, data = study_description(study, run), data_checksum(run.task.data)
        path = store.files_of(key_of(description), studies_folder(folder)).result
        store.write_entry(path, description, data=data, found=asdict(found))
    return found


def load_study(study: Bound[Any], run: Run, folder: Path) -> Any:
    """Return what is stored of a study; a DataError if there is nothing that can be used."""
    found, unusable = _find_study(study, run, folder)
    if found is None:
        where = f"of {run.task.name}, seed {run.seed}, in {studies_folder(folder)}"
        raise DataError("; ".join(unusable) or f"no study {study} {where}")
    return found


def list_studies(folder: Path) -> tuple[list[store.Entry], dict[str, str]]:
    """Return the entries of all studies in a folder, and [where] why something cannot be used."""

    def read(entry: store.Entry) -> store.Entry:
        about = entry["description"]
        if set(about) != {"study", "run"} or "found" not in entry:
            raise DataError("it is not a study")
        try:
            known = isinstance(about["study"], str) and is_number(about["run"]["seed"])
            known = known and bool(about["run"]["task"]["name"])
        except (KeyError, TypeError):
            known = False
        if not known:
            raise DataError("it is not a study of a run")
        return entry

    found, unusable = store.read_all(folder, read)
    return sorted(
        found, key=lambda one: (one["description"]["study"], one["description"]["run"]["seed"])
    ), unusable


def pack_studies(folder: Path) -> list[str]:
    """Move studies into packed files, as they are; return their keys."""
    return store.pack(folder, lambda entry: entry)


def _find_study(study: Bound[Any], run: Run, folder: Path) -> tuple[Any, list[str]]:
    """Return what is stored of a study, None if nothing is, and why entries of it cannot be used."""

    def read(entry: store.Entry) -> Any:
        check_data(entry["data"], run.task.data)
        try:
            return restored(typing.get_type_hints(study.function)["return"], entry["found"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"it is not such a study, or is damaged: {error!r}") from None

    key = key_of(study_description(study, run))
    return store.find(key, run.task.name, studies_folder(folder), read)


def restored(kind: Any, plain: Any) -> Any:
    """Return what was stored as plain lists and dictionaries in the type it had."""
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        if set(plain) != {field.name for field in fields(kind)}:
            raise ValueError(f"it has the fields {', '.join(plain)}")
        return kind(**{name: restored(hints[name], value) for name, value in plain.items()})  # type: ignore[operator]
    if typing.get_origin(kind) is tuple:
        return tuple(restored(typing.get_args(kind)[0], value) for value in plain)
    if typing.get_origin(kind) is dict:
        return {name: restored(typing.get_args(kind)[1], value) for name, value in plain.items()}
    if isinstance(kind, types.UnionType):  # something, or None
        (something,) = set(typing.get_args(kind)) - {types.NoneType}
        return None if plain is None else restored(something, plain)
    simple = typing.get_origin(kind) or kind
    fits = is_number(plain) if simple is float else isinstance(plain, simple)
    if not fits or (simple is int and not is_number(plain)):
        raise TypeError(f"{plain!r} is no {kind}")
    return plain
