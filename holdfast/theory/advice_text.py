"""What the adviser says in words: what is guaranteed under which assumption, and which risk remains."""

from collections.abc import Iterator
from dataclasses import replace

from .._support.counting import largest_minority, votes_needed
from .federation import Assessment, Federation

__all__ = ["guarantees", "paper_text", "percent", "problems", "region_text", "watch_text"]


def guarantees(federation: Federation, found: Assessment) -> Iterator[str]:
    """Return what the settings guarantee, each with what it assumes."""
    n, typical = federation.n_per_round, federation.typical_attackers
    yield (
        f"Range: in a round with at most {found.n_trimmed} attackers, every coordinate of the update is 0 or"
        " lies between two honest clients' values, whatever the attackers send. Assumes nothing else."
    )
    if found.direction_is_sure:
        n_helpers = max(0, n - found.n_against - typical)
        yield (
            f"Direction: a coordinate that moves goes the way of at least {n - found.n_against} of the {n}"
            f" clients. To turn one, the {typical} attackers of a typical round need {n_helpers} of the"
            f" {n - typical} honest clients on their side. Assumes that no client sends exact zeros."
        )
    else:
        yield (
            f"Direction: none. A coordinate passes with up to {found.n_against} clients against it, and only"
            f" {found.n_trimmed} are trimmed: magnitudes decide, and the attackers choose theirs."
        )
    yield (
        "Learning: a coordinate that the attackers push against moves the honest way in"
        f" {percent(found.learns)} of the rounds, and may move theirs in {percent(found.misled)} of them."
        " Assumes that clients are drawn at random, and that noise flips each honest sign independently, with"
        f" chance {federation.flip:g}."
    )


def problems(federation: Federation, found: Assessment, risk: float) -> Iterator[str]:
    """Return which risks the settings leave above the one allowed, and what would help."""
    if found.more_than_trimmed_ever > risk:
        yield (
            f"no alpha keeps the risk at {percent(risk)}: even with the most that can be trimmed at each end,"
            f" {found.n_trimmed} of {federation.n_per_round}, some round of {federation.n_rounds} draws more"
            f" attackers than that with chance {percent(found.more_than_trimmed_ever)}; with"
            f" {_per_round_needed(federation, risk)} clients per round it is at most {percent(risk)}"
        )
    if found.misled_ever > risk:
        yield (
            f"no tau keeps the risk at {percent(risk)}: an attacked coordinate is turned in some round of"
            f" {federation.n_rounds} with chance {percent(found.misled_ever)}; more clients per round, or a"
            f" smaller flip than {federation.flip:g} (larger batches, less noise), would help"
        )


def region_text(federation: Federation, region: tuple[tuple[int, int], ...]) -> str:
    """Return the feasible settings in one sentence."""
    if not region:
        return "none: no pair of settings keeps every risk as low as asked"
    trims, masks = sorted({k for k, _ in region}), sorted({m for _, m in region})
    strict = Assessment.from_counts(federation, n_trimmed=trims[0], n_against=masks[0])
    wide = Assessment.from_counts(federation, n_trimmed=trims[-1], n_against=masks[-1])
    never = ", never more against than are trimmed" if masks[-1] > trims[0] else ""
    return (
        f"alpha {_span(strict.alpha, wide.alpha)} (trim {_span(trims[0], trims[-1])} at each end) and tau"
        f" {_span(wide.tau, strict.tau)} ({_span(masks[0], masks[-1])} against{never})"
    )


def paper_text(federation: Federation) -> str:
    """State the paper's own advice on tau (Appendix C.3) for this federation, in one sentence.

    >>> paper_text(Federation(n_clients=100, n_malicious=20, n_per_round=20)).split("; ")[0]
    "start with tau = N'/N = 0.2 and increase it for more robustness"
    """
    tau, n = federation.n_malicious / federation.n_clients, federation.n_per_round
    n_against = largest_minority(votes_needed(tau, n), n)
    return (
        f"start with tau = N'/N = {tau:.2g} and increase it for more robustness; at {tau:.2g}, up to"
        f" {n_against} of {n} clients may oppose a coordinate that moves"
    )


def watch_text(federation: Federation, *, strength: float, n_rounds: int | None) -> str:
    """Return in one sentence after how many rounds a watch sees the attackers; None stands for never."""
    condition = f"if they stand off by {strength:g} deviations of the honest clients in each"
    if n_rounds is None:
        return f"a watch (factions) never sees the {federation.n_malicious} attackers, {condition}"
    late = f", later than the training of {federation.n_rounds} ends" * (n_rounds > federation.n_rounds)
    return (
        f"a watch (factions) sees the {federation.n_malicious} attackers after about {n_rounds} rounds{late},"
        f" {condition}"
    )


def _span(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def percent(chance: float) -> str:
    """Return a chance to be read: in per cent, or as a power of ten where that would read as 0."""
    if chance in (0, 1):
        return f"{chance:.0%}"
    if chance > 0.9995:
        return ">99.9%"
    return f"{100 * chance:.{3 if chance >= 0.1 else 2}g}%" if chance >= 0.0001 else f"{chance:.0e}"


def _per_round_needed(federation: Federation, risk: float) -> int:
    """Return how many clients per round let some alpha keep the risk. All of them always do."""
    n = federation.n_per_round
    while n < federation.n_clients:
        larger = replace(federation, n_per_round=n)
        if larger.chance_ever(larger.chance_of_more(larger.most_trimmed)) <= risk:
            return n
        n += max(1, n // 50)
    return federation.n_clients
