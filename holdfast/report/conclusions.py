"""Did the backdoor get in? One verdict for trainings and rounds, for terminals, pages and JSON alike."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Literal

__all__ = ["HEADLINES", "MARGIN", "Conclusion", "Judged", "Word", "judge"]

Word = Literal["kept out", "partly in", "got in", "not trained", "no attack", "no verdict"]

#: The backdoor is kept out where it works at most so much more often than without an attack ...
MARGIN = 0.10
#: ... and got in where it works so much more often. In between, and where seeds disagree, it is partly in.
CLEAR = 0.50
#: A model has learned something that gets this part of the way from guessing to all answers correct.
LEARNED = 0.10

HEADLINES: dict[Word, str] = {
    "kept out": "The backdoor was kept out",
    "partly in": "The backdoor got in partly",
    "got in": "The backdoor got in",
    "not trained": "Not trained: no verdict",
    "no attack": "Nobody attacked",
    "no verdict": "No verdict on a backdoor",
}


@dataclass(frozen=True)
class Judged:
    """What became of a backdoor, in two words, and the numbers that say so.

    >>> Judged("no attack", "All clients were honest.").word
    'no attack'
    """

    word: Word
    reason: str
    numbers: str = ""  # in short


@dataclass(frozen=True)
class Conclusion:
    """What a training or a round comes to. Print it, or store `as_dict()`.

    >>> print(Conclusion("kept out", "2.0 % of ...", "Nobody.", "Try another seed:", "holdfast run x"))
    The backdoor was kept out
      why       2.0 % of ...
      suspects  Nobody.
      next      Try another seed:
                holdfast run x
    """

    word: Word
    reason: str  # why, with the threshold
    suspects: str  # who looks guilty
    advice: str  # what to do next
    command: str | None = None  # that does it, as typed into a terminal
    headline: str = ""  # what to say first; by default the one of the word
    code: str | None = None  # a line of Python that uses what is advised
    attention: str = ""  # what an operator should look at, though it accuses nobody

    def __post_init__(self) -> None:
        """Fill in the headline."""
        if not self.headline:
            object.__setattr__(self, "headline", HEADLINES[self.word])

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain values, ready for json.dumps."""
        return asdict(self)

    def __str__(self) -> str:
        """Return a headline and what is behind it, a line each."""
        lines = [self.headline, f"  why       {self.reason}"]
        lines += [f"  attention {self.attention}"] if self.attention else []
        lines += [f"  suspects  {self.suspects}", f"  next      {self.advice}"]
        return "\n".join([*lines, *(f"            {own}" for own in (self.command, self.code) if own)])


def judge(
    accuracy: Sequence[float],
    success: Sequence[float] | None,
    *,
    unattacked: Sequence[float] | None = None,
    guessing: float | None = None,
) -> Judged:
    """Return what became of the backdoor, given the final numbers of trainings under attack, one per seed.

    `success` is the share of inputs with the backdoor that get the attackers' label, and `unattacked` that
    share where nobody attacks: some inputs get the label anyway. `guessing` is the accuracy of a model that
    always gives the most frequent label; where no better is reached, there is no verdict.

    >>> judge([0.95], [0.98], unattacked=[0.01]).word, judge([0.95], [0.84], unattacked=[0.79]).word
    ('got in', 'kept out')
    >>> judge([0.12], [0.9], unattacked=[0.1], guessing=0.1).word
    'not trained'
    """
    if guessing is not None and fmean(accuracy) < guessing + LEARNED * (1 - guessing):
        return Judged(
            "not trained",
            f"The model has learned nothing yet: {fmean(accuracy):.1%} of its answers are correct, and always"
            f" guessing the most frequent label gives {guessing:.1%}.",
            f"accuracy {fmean(accuracy):.1%}, guessing {guessing:.1%}",
        )
    if not success:
        return Judged(
            "no verdict",
            "This attack plants no backdoor: it spoils the model for all inputs. Compare the accuracies.",
        )
    if not unattacked:
        return Judged(
            "kept out" if max(success) <= MARGIN else "no verdict",
            f"{_share(success)} get the attackers' label. How many do so without an attack was not measured"
            + (f"; at most {MARGIN:.0%} count as kept out." if max(success) <= MARGIN else "."),
            f"{fmean(success):.1%}",
        )
    return _against(success, unattacked)


def _against(success: Sequence[float], unattacked: Sequence[float]) -> Judged:
    """Return the verdict by how much more often the backdoor works than without an attack, seed by seed."""
    usual = list(unattacked) if len(unattacked) == len(success) else [fmean(unattacked)] * len(success)
    above = [own - base for own, base in zip(success, usual, strict=True)]
    n_kept = sum(one <= MARGIN for one in above)
    word: Word = "partly in"
    if n_kept == len(above):
        word = "kept out"
    elif min(above) >= CLEAR:
        word = "got in"
    limit = min(fmean(usual) + MARGIN, 1.0)
    seeds = f" It is kept out in {n_kept} of {len(above)} seeds." if len(above) > 1 else ""
    reason = (
        f"{_share(success)} get the attackers' label, without an attack {fmean(usual):.1%}. Up to"
        f" {limit:.1%}, {100 * MARGIN:.0f} points more, counts as kept out.{seeds}"
    )
    return Judged(word, reason, f"{fmean(success):.1%}, unattacked {fmean(usual):.1%}")


def _share(success: Sequence[float]) -> str:
    return f"{fmean(success):.1%} of the inputs with the backdoor"
