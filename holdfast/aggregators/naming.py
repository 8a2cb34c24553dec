"""Rules by their names: one alone, or several that work in front of each other."""

from .._support.lookup import nearest
from ..core import Rule
from ..errors import InputError

__all__ = ["rule_called"]


def rule_called(name: str) -> Rule:
    """Return the rule of this name; in nnm+krum the first works in front of the other.

    >>> rule_called("nnm+trimmed-mean")
    nnm(rule=trimmed_mean(alpha=0.25), n_malicious=?)
    """
    from .. import aggregators

    first, plus, rest = name.partition("+")
    known = aggregators.__all__
    wanted = first.replace("-", "_")
    if wanted not in known:
        raise InputError(
            f"there is no rule {first!r}; {nearest(wanted, known)}'holdfast list defences' shows all"
        )
    found: Rule = getattr(aggregators, wanted)
    if not plus:
        return found
    if found.inner is None:
        fronts = [one for one in known if getattr(aggregators, one).inner is not None]
        raise InputError(f"{first} does not work in front of another rule; these do: {', '.join(fronts)}")
    return found(rule=rule_called(rest))
