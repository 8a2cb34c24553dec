"""What to do next, by evidence: advice in words, and the command that follows it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from .conclusions import Word

__all__ = ["BEST", "Step", "Typed", "after_contest", "after_run"]

#: The defence whose worst case over all attacks is the best in the stored results (docs/watch.md).
BEST = "factions+krum_trimmed_mean"
#: The attack against which that defence is weakest among those that do not know everything.
HARDER = "sleeper"
FEW_SEEDS = 3

Step = tuple[str, str | None]


@dataclass(frozen=True)
class Typed:
    """How a training was asked for on the command line, so that the next command can repeat it.

    >>> Typed("digits", "edge-case", options=("--set", "lr=0.1")).command("run", "--defence", "median")
    'holdfast run digits --attack edge-case --set lr=0.1 --defence median'
    """

    task: str
    attack: str
    options: tuple[str, ...] = ()  # for any defence: numbers of clients, settings of the task, folders
    own: tuple[str, ...] = ()  # that go for the defence which was typed
    rounds: int = 20
    typed_rounds: bool = False  # whether that number was typed
    counts: tuple[int, int, int] = (100, 20, 20)  # clients, those per round, attackers
    backdoors: tuple[str, ...] = ()  # that the task has
    seed: int = 0  # of a single training; comparisons count their seeds from 0

    def command(self, name: str, *words: str, attack: str | None = None, own: bool = False) -> str:
        """Return a command on the same task."""
        more = (*self.options, *(self.own if own else ()), *words)
        if self.typed_rounds and "--rounds" not in words:
            more = ("--rounds", str(self.rounds), *more)
        if self.seed and name == "run":
            more = ("--seed", str(self.seed), *more)
        return shlex.join(["holdfast", name, self.task, "--attack", attack or self.attack, *more])


def after_run(word: Word, defence: str, typed: Typed) -> Step:
    """Return what to do after one training under one defence.

    >>> after_run("got in", "fedavg", Typed("digits", "edge-case"))[1]
    'holdfast run digits --attack edge-case --defence factions+krum_trimmed_mean'
    """
    if word == "not trained":
        rounds = str(max(5 * typed.rounds, 20))
        return "Train longer:", typed.command("run", "--defence", defence, "--rounds", rounds, own=True)
    if word == "no attack":
        if not typed.backdoors:
            return "Choose an attack:", "holdfast list attacks"
        if typed.attack != "none":
            rounds = str(max(5 * typed.rounds, 20))
            command = typed.command("run", "--defence", defence, "--rounds", rounds, own=True)
            return "Train longer, so that attackers are drawn, too:", command
        command = typed.command("run", "--defence", defence, attack=typed.backdoors[0], own=True)
        return "See what an attack does:", command
    if word in ("got in", "partly in") and defence != BEST:
        return "Try the defence with the best worst case:", typed.command("run", "--defence", BEST)
    if word in ("got in", "partly in"):
        return _advised(typed)
    others = "" if defence == "fedavg" else "fedavg,"
    command = typed.command(
        "compare", "--defences", f"{others}{defence}", "--seeds", str(FEW_SEEDS), own=True
    )
    return "One training proves little. Repeat it with other seeds:", command


def after_contest(words: dict[str, Word], seeds: Sequence[int], typed: Typed) -> Step:
    """Return what to do after a comparison, given what became of the backdoor under each defence.

    >>> after_contest({"fedavg": "got in", "median": "kept out"}, [0, 1, 2], Typed("digits", "edge-case"))[1]
    'holdfast compare digits --attack edge-case+sleeper --defences median --seeds 3'
    """
    kept = [defence for defence, word in words.items() if word == "kept out"]
    more: tuple[str, ...]
    if {*words.values()} == {"no attack"}:
        if not typed.backdoors:
            return "Choose an attack:", "holdfast list attacks"
        more = ("--defences", ",".join(words), "--seeds", str(len(seeds)))
        command = typed.command("compare", *more, attack=typed.backdoors[0], own=True)
        return "See what an attack does:", command
    if "not trained" in words.values() and not kept:
        rounds, all_ = str(max(5 * typed.rounds, 20)), ",".join(words)
        more = ("--defences", all_, "--rounds", rounds, "--seeds", str(len(seeds)))
        return "Train longer:", typed.command("compare", *more, own=True)
    if not kept and BEST not in words:
        more = ("--defences", f"{','.join(words)},{BEST}", "--seeds", str(len(seeds)))
        return "Add the defence with the best worst case:", typed.command("compare", *more, own=True)
    if not kept:
        return _advised(typed)
    if len(seeds) < FEW_SEEDS:
        more = ("--defences", ",".join(words), "--seeds", str(FEW_SEEDS))
        step = typed.command("compare", *more, own=True)
        return f"Few seeds prove little. Repeat with {FEW_SEEDS}:", step
    if typed.attack in ("edge-case", "distributed"):
        more = ("--defences", ",".join(kept), "--seeds", str(FEW_SEEDS))
        command = typed.command("compare", *more, attack=f"{typed.attack}+{HARDER}", own=True)
        return "Try a harder attack, which sleeps through the first half of the training:", command
    return "See what every defence comes to under every attack:", "holdfast report"


def _advised(typed: Typed) -> Step:
    clients, per_round, malicious = typed.counts
    numbers = ("--clients", clients, "--per-round", per_round, "--malicious", malicious)
    command = shlex.join(["holdfast", "advise", *map(str, numbers)])
    return "No defence tried here holds. See what can be guaranteed with so many attackers:", command
