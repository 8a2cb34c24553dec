"""What a rule was found to do: one clause per demand of the contract."""

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["Certificate", "Clause", "failed", "noted", "passed"]


@dataclass(frozen=True)
class Clause:
    """One demand of the contract: whether the rule meets it, in one sentence and in numbers.

    A note is what a user should know and may well want; it is no failure.

    >>> print(Clause("ids", "pass", "does not ask for the clients' ids"))
    pass  ids               does not ask for the clients' ids
    """

    name: str
    verdict: Literal["pass", "fail", "note"]
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return one line."""
        shown = "FAIL" if self.verdict == "fail" else self.verdict
        return f"{shown}  {self.name:16}  {self.sentence}"


@dataclass(frozen=True)
class Certificate:
    """How a rule meets the contract, clause by clause. Print it, or store `as_dict()`.

    >>> print(Certificate("mine()", (passed("ids", "does not ask for the clients' ids"),)))
    mine() passes
      pass  ids               does not ask for the clients' ids
    """

    rule: str
    clauses: tuple[Clause, ...]

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the clauses that the rule fails."""
        return tuple(clause.name for clause in self.clauses if clause.verdict == "fail")

    @property
    def passed(self) -> bool:
        """Whether it fails none."""
        return not self.failures

    def __getitem__(self, name: str) -> Clause:
        """Return the clause of this name.

        >>> Certificate("mine()", (noted("scale", "treats zero as special"),))["scale"].verdict
        'note'
        """
        return {clause.name: clause for clause in self.clauses}[name]

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain strings, numbers and lists, ready for json.dumps.

        >>> Certificate("mine()", ()).as_dict()
        {'rule': 'mine()', 'passed': True, 'clauses': []}
        """
        return {"rule": self.rule, "passed": self.passed, "clauses": [asdict(one) for one in self.clauses]}

    def __str__(self) -> str:
        """Return the verdict, and one line per clause."""
        verdict = "passes" if self.passed else f"FAILS: {', '.join(self.failures)}"
        return "\n".join([f"{self.rule} {verdict}", *(f"  {clause}" for clause in self.clauses)])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def passed(name: str, sentence: str, **numbers: float) -> Clause:
    """Return a clause that is met."""
    return Clause(name, "pass", sentence, numbers)


def failed(name: str, sentence: str, **numbers: float) -> Clause:
    """Return a clause that is not met."""
    return Clause(name, "fail", sentence, numbers)


def noted(name: str, sentence: str, **numbers: float) -> Clause:
    """Return a clause that has something to be known."""
    return Clause(name, "note", sentence, numbers)
