"""Every rule on the same round: one training of its clients tells how much each rule lets through."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .. import aggregators
from ..core import Rule, bind
from ..errors import InputError
from ..lab.choices import Numbers, build_contest
from ..lab.own import is_own, load_own
from ..lab.scenario import Attack, Defence, Run, Task
from ..paper.studies import load_or_make_study, rules_on_a_round
from ..paper.studies.rules import n_steps_of_probe
from ..paper.studies.starts import AfterRounds, Start, WarmStart, model_file
from .choosing import check_choices, defences_listed
from .making import Progress, progress_shown
from .probed import Probed

__all__ = ["Probed", "probe", "probe_run", "start_of"]

_steps_shown = partial(progress_shown, what="steps")

#: Where a probe starts unless it is said, if not from a fresh network: a large one learns nothing for long.
DEFAULTS: Mapping[str, Start] = {"paper": WarmStart(2)}


def probe(
    task: str | Task,
    attack: str | Attack | None = None,
    defences: Iterable[Any] | Mapping[str, Any] | None = None,
    *,
    after: int | None = None,
    warm: float | None = None,
    model: str | Path | None = None,
    draws: int = 1,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    numbers: Numbers | None = None,
    sampling: str = "fixed",
    scale: str = "cpu",
    out: str | Path = "results",
    progress: Progress = _steps_shown,
) -> Probed:
    """Return what every rule makes of the same round: the clients train once, which serves all rules.

    Task, attack and defences are as in `compare`; without defences, all rules are probed, yours too. The
    round starts from a fresh network, from the model `after` so many rounds of plain averaging under the
    attack, from one trained on all honest examples in one place for `warm` epochs (the default at the scale
    "paper": 2), or from a file, `model`. `draws` are rounds with other clients from the same model. By
    default, every round has the attackers' share. What is stored in the folder `out` is read.

    >>> import tempfile
    >>> from holdfast import median, trimmed_mean
    >>> small = Numbers(n_clients=10, n_per_round=5)
    >>> found = probe("digits", "distributed", [median, trimmed_mean], numbers=small, out=tempfile.mkdtemp())
    >>> [standing["gain"]["mean"] > 0 for standing in found.standings]
    [True, True]
    """
    check_choices(task=task, attack=attack, settings=settings, numbers=numbers)
    contest = build_contest(
        task,
        _all_rules(task) if defences is None else defences_listed(defences),
        attack=attack,
        seeds=(seed,),
        settings=settings,
        numbers=numbers,
        sampling=sampling,
        scale=scale,
    )
    runs = {name: run for name, (run,) in contest.items()}
    rules, run = {name: _rule_of(run.defence) for name, run in runs.items()}, next(iter(runs.values()))
    start = start_of(after=after, warm=warm, model=model, scale=scale)
    return probe_run(run, rules, start, draws=draws, out=Path(out), progress=progress)


def probe_run(
    run: Run, rules: Mapping[str, Rule], start: Start, *, draws: int, out: Path, progress: Progress
) -> Probed:
    """Return the probe of a run's task under its attack: read from the folder, or made and stored there."""
    if run.attack.n_malicious == 0:
        raise InputError("a probe measures how much of an attack gets through: name one, such as edge-case")
    study = bind(rules_on_a_round, "study", rules=tuple(rules.values()), start=start, draws=draws)
    plain = run.replace(defence=Defence())
    with progress(n_steps_of_probe(len(rules), draws)) as show:
        found = load_or_make_study(study, plain, out, progress=show)
    return Probed(plain, start, dict(rules), found)


def start_of(
    *,
    after: int | None = None,
    warm: float | None = None,
    model: str | Path | None = None,
    scale: str = "cpu",
) -> Start:
    """Return where a probe starts; unless it is said, where a training at this scale would, or warm.

    >>> print(start_of(after=20))
    after 20 rounds of plain averaging
    >>> print(start_of(scale="paper"))
    from a warm start of 2 epochs
    """
    named = {"after": after, "warm": warm, "model": model}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"a probe starts from one model: take only one of {', '.join(given)}")
    if model is not None:
        return model_file(Path(model))
    if warm is not None:
        return WarmStart(warm)
    if after is not None:
        return AfterRounds(after)
    return DEFAULTS.get(scale, AfterRounds(0))


def _all_rules(task: str | Task) -> list[str]:
    """Return the names of all rules: ours, and those in a file of the user's own."""
    own = load_own(task.partition(":")[0]) if isinstance(task, str) and is_own(task) else None
    return (
        [*(f"{own.module}.{name}" for name in own.rules), *aggregators.__all__]
        if own
        else aggregators.__all__
    )


def _rule_of(defence: Defence) -> Rule:
    """Return the rule of a defence that is nothing but a rule."""
    if defence.watch is not None:
        raise InputError(
            f"{defence.name} watches over the clients, which takes many rounds; a probe has one:"
            " name the rule alone"
        )
    if defence.train or defence.after or defence.predict != Defence().predict:
        raise InputError(
            f"{defence.name} changes how clients train, what the server trains after them, or how the model"
            " answers; a probe puts rules side by side on the same updates, so use compare for it"
        )
    rule: Rule = defence.aggregate
    return rule
