"""The contract of a rule: what ours keep of it, and which clause catches a rule that breaks it."""

import json
import logging
import sys

import numpy as np
import pytest

from holdfast import Aggregate, InputError, krum, median, rule, trimmed_mean
from holdfast.errors import TooFewClientsError
from holdfast.lab.conformance import CONTRACT, Certificate, check
from holdfast.lab.conformance.certificate import noted, passed
from holdfast.lab.conformance.growth import exponent, growth_judged, memory
from holdfast.lab.conformance.naming import rule_named
from holdfast.lab.conformance.rounds import answer, attacked, crowd, directions, distance

from ..rules import RULES, named

#: Of each of our rules: the clauses it fails, those with a note, and how many of 10 and of 20 it withstands.
OURS = {
    "align_ins": ((), ("scale",), (2, 5)),
    "and_mask": (("plain averaging", "one client", "collusion"), ("scale",), (0, 0)),
    "arc": ((), ("scale",), (3, 5)),
    "bucketing": ((), (), (4, 3)),
    "bulyan": ((), (), (3, 3)),
    "cached": ((), ("scale",), (3, 5)),
    "centered_clipping": ((), (), (4, 9)),
    "crfl": (("plain averaging", "collusion"), ("scale",), (0, 0)),
    "dnc": ((), (), (2, 2)),
    "fed_seca": ((), ("scale", "collusion"), (5, 10)),
    "fedavg": (("plain averaging", "one client", "collusion", "sample counts"), (), (0, 0)),
    "fl_detector": (("plain averaging", "one client", "collusion"), (), (0, 0)),
    "flame": ((), ("scale",), (4, 9)),
    "fltrust": ((), ("scale",), (9, 19)),
    "foolsgold": (("plain averaging", "one client", "collusion"), (), (0, 0)),
    "invariant": ((), ("scale",), (3, 5)),
    "krum": ((), (), (4, 9)),
    "krum_trimmed_mean": ((), (), (4, 6)),
    "mean_variance_mask": ((), ("scale", "collusion"), (3, 5)),
    "median": ((), (), (4, 9)),
    "multi_krum": ((), (), (2, 2)),
    "multi_krum_cosine": (("one client", "collusion"), ("scale",), (0, 0)),
    "nnm": ((), (), (2, 2)),
    "multi_metrics": ((), ("scale",), (4, 9)),
    "norm_clipping": ((), ("scale",), (4, 9)),
    "rfa": ((), (), (4, 9)),
    "rflbat": ((), (), (5, 13)),
    "rlr": (("plain averaging", "one client", "collusion"), ("scale",), (0, 0)),
    "sign_sgd": ((), ("scale",), (4, 9)),
    "sparsefed": ((), ("scale",), (4, 9)),
    "trimmed_mean": ((), (), (3, 5)),
    "weak_dp": ((), ("scale",), (4, 9)),
    "weighted_invariant": ((), ("scale",), (2, 5)),
    "weighted_median": ((), (), (4, 9)),
    "weighted_trimmed_mean": ((), (), (2, 5)),
}


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_what_the_certificate_says_of_our_rules(rule):
    certificate = check(rule, timed=False)
    noted = tuple(clause.name for clause in certificate.clauses if clause.verdict == "note")
    held = certificate["collusion"].numbers
    found = (certificate.failures, noted, (held["of_10"], held["of_20"]))
    assert found == OURS.get(rule.name), f"{rule.name}: {found}\n{certificate}"


def test_plain_averaging_is_called_by_its_name():
    found = check(rule_named("fedavg"), timed=False)
    assert found["plain averaging"].sentence == "this is the mean of all clients, whoever is among them"
    assert "as far as it likes" in found["one client"].sentence
    assert str(found).startswith("fedavg() FAILS: plain averaging, one client, collusion, sample counts\n")


def test_a_mask_over_the_mean_is_told_apart_from_the_mean():
    found = check(rule_named("and_mask", {"tau": 0.6}), timed=False)["plain averaging"]
    assert found.verdict == "fail"  # where all honest clients agree, nothing is masked
    assert "equal honest rows" in found.sentence

    @rule
    def sparse_mean(updates):
        mean = np.asarray(updates).mean(axis=0)
        return Aggregate(np.where(np.abs(mean) > np.median(np.abs(mean)), mean, 0).astype(np.float32))

    found = check(sparse_mean, timed=False)["plain averaging"]
    assert (found.verdict, found.sentence[:39]) == ("note", "where it moves, it moves by the mean of")


def matrix_of(updates):
    return np.asarray(updates)


def middle(matrix):
    return np.median(matrix, axis=0)


@rule
def disguised(updates, *, robustness=3.0):
    matrix = matrix_of(updates)
    scores = np.linalg.norm(matrix - matrix.mean(axis=0), axis=1)
    keep = scores <= scores.max() * robustness
    return Aggregate(matrix[keep].mean(axis=0))


@rule
def rescaled_mean(updates):
    mean = matrix_of(updates).mean(axis=0)
    return Aggregate(mean / max(1.0, float(np.linalg.norm(mean))))


@rule
def averages_on_errors(updates):
    matrix = matrix_of(updates)
    try:
        return Aggregate(middle(matrix))
    except (ValueError, ZeroDivisionError):
        return Aggregate(matrix.mean(axis=0))


@rule
def averages_on_numpy_errors(updates):
    matrix = matrix_of(updates)
    try:
        lengths = np.linalg.norm(matrix, axis=1)
    except FloatingPointError:
        return Aggregate(matrix.mean(axis=0))
    return Aggregate(middle(matrix[lengths > 0]) if (lengths > 0).any() else matrix[0] * 0)


@rule
def averages_on_overflow(updates):
    matrix = matrix_of(updates)
    lengths = np.sqrt((matrix**2).sum(axis=1))
    return Aggregate(middle(matrix) if np.isfinite(lengths).all() else matrix.mean(axis=0))


@rule
def averages_few_clients(updates):
    matrix = matrix_of(updates)
    return Aggregate(matrix.mean(axis=0) if len(matrix) < 5 else middle(matrix))


@rule
def drops_the_last(updates):
    return Aggregate(matrix_of(updates)[:-3].mean(axis=0))


@rule
def trusts_the_first(updates):
    return Aggregate(matrix_of(updates)[0].copy())


@rule
def knows_the_order_under_attack(updates):
    matrix = matrix_of(updates)
    lengths = np.linalg.norm(matrix, axis=1)
    is_attacked = lengths.max() > 2 * np.median(lengths)
    return Aggregate(np.median(matrix[:-3] if is_attacked else matrix, axis=0))


@rule
def knows_the_ids(updates, *, clients):
    honest = [row for row, client in enumerate(clients) if not (isinstance(client, int) and client > 6)]
    return Aggregate(middle(matrix_of(updates)[honest or slice(None)]))


@rule
def modifies_its_input(updates):
    matrix = matrix_of(updates)
    matrix -= middle(matrix)
    return Aggregate(middle(matrix))


@rule
def returns_a_view(updates):
    matrix = matrix_of(updates)
    gaps = np.linalg.norm(matrix - middle(matrix), axis=1)
    return Aggregate(matrix[gaps.argmin()])


@rule
def divides_by_lengths(updates):
    matrix = matrix_of(updates)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return Aggregate(middle(matrix / lengths) * np.median(lengths))


SEEN = []


@rule
def remembers(updates):
    SEEN.append(middle(matrix_of(updates)))
    return Aggregate(np.mean(SEEN[-3:], axis=0))


@rule
def draws_by_itself(updates):
    matrix = matrix_of(updates)
    noise = np.random.default_rng().normal(size=matrix.shape[1]).astype(np.float32)
    return Aggregate(middle(matrix) + noise)


@rule
def wrong_krum(updates, *, n_malicious=2):
    matrix = matrix_of(updates).astype(np.float64)
    gaps = ((matrix[:, None] - matrix[None]) ** 2).sum(axis=2)
    scores = np.sort(gaps, axis=1)[:, 1 : len(matrix) - n_malicious - 1].sum(axis=1)
    return Aggregate(matrix[scores.argmax()].astype(np.float32))


@rule
def trims_one_side(updates, *, alpha=0.2):
    matrix = np.sort(matrix_of(updates), axis=0)
    return Aggregate(matrix[: len(matrix) - int(alpha * len(matrix))].mean(axis=0))


@rule
def clips_far_away(updates):
    matrix = matrix_of(updates)
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
    return Aggregate((matrix * np.minimum(1, 1e4 / np.maximum(lengths, 1e-9))[:, None]).mean(axis=0))


@rule
def squares_the_counts(updates, *, weights=None):
    matrix = matrix_of(updates)
    shares = np.ones(len(matrix)) if weights is None else np.asarray(weights, float) ** 2
    return Aggregate(np.average(np.clip(matrix, -5, 5), axis=0, weights=shares))


@rule
def promises_too_much(updates, *, n_malicious=4):
    return Aggregate(trimmed_mean(matrix_of(updates), alpha=0.1).update)


@rule
def every_pair_at_once(updates):
    matrix = matrix_of(updates)
    gaps = np.abs(matrix[:, None] - matrix[None]).sum(axis=(1, 2))
    return Aggregate(matrix[gaps.argmin()].copy())


@rule
def forgets_the_aggregate(updates):
    return middle(matrix_of(updates))


@rule
def wrong_shape(updates):
    return Aggregate(middle(matrix_of(updates))[:-1])


@rule
def other_in_layers(updates):
    n_layers = len(updates.layout.layers) if hasattr(updates, "layout") else 1
    return Aggregate(middle(matrix_of(updates)) / np.float32(n_layers))


@rule
def stays_where_it_is(updates):
    return Aggregate(0 * middle(matrix_of(updates)))


@rule
def goes_backwards(updates):
    return Aggregate(-middle(matrix_of(updates)))


@rule
def raises_by_itself(updates):
    raise RuntimeError("not today")


#: What each is caught by; other clauses may fail as well.
BAD = {
    disguised: "plain averaging",
    rescaled_mean: "plain averaging",
    averages_on_errors: "plain averaging",
    averages_on_numpy_errors: "plain averaging",
    averages_on_overflow: "plain averaging",
    averages_few_clients: "plain averaging",
    drops_the_last: "order",
    trusts_the_first: "order",
    knows_the_order_under_attack: "order",
    knows_the_ids: "ids",
    modifies_its_input: "form",
    returns_a_view: "form",
    divides_by_lengths: "hostile rows",
    remembers: "repeats",
    draws_by_itself: "repeats",
    wrong_krum: "one client",
    trims_one_side: "one client",
    clips_far_away: "one client",
    squares_the_counts: "sample counts",
    promises_too_much: "collusion",
    every_pair_at_once: "memory",
    forgets_the_aggregate: "form",
    wrong_shape: "form",
    other_in_layers: "form",
    raises_by_itself: "form",
    stays_where_it_is: "honest step",
    goes_backwards: "honest step",
}


@pytest.mark.parametrize("bad", BAD, ids=named)
def test_a_bad_rule_is_caught_by_the_right_clause(bad):
    certificate = check(bad, timed=False)
    assert BAD[bad] in certificate.failures, str(certificate)


@pytest.mark.parametrize("bad", [one for one in BAD if one.name.startswith("averages")], ids=named)
def test_a_rule_that_only_falls_back_to_the_mean_is_caught_by_nothing_else(bad):
    assert check(bad, timed=False).failures == ("plain averaging",)


def test_the_line_that_fails_is_named_and_tracing_ends():
    before = sys.gettrace()
    found = check(averages_on_errors, timed=False)["plain averaging"].sentence
    assert found.endswith("of test_conformance.py fails, it is the mean of all clients")
    assert sys.gettrace() is before


def test_a_good_rule_of_ones_own_passes_with_what_it_may_ask_for():
    @rule
    def careful(updates, *, clients, weights=None, state=None, rng, share=0.5):
        if not 0 < share < 1:
            raise InputError("share must be in (0, 1)")
        matrix = matrix_of(updates)
        if len(matrix) < 3:
            raise TooFewClientsError(f"careful needs 3 clients; got {len(matrix)}")
        buckets = np.array_split(matrix[rng.permutation(len(matrix))], max(3, len(matrix) // 2))
        means = np.array([bucket.mean(axis=0) for bucket in buckets])
        return Aggregate(np.quantile(means, share, axis=0).astype(np.float32), state=(state or 0) + 1)

    certificate = check(careful, timed=False)
    assert certificate.passed, str(certificate)
    assert certificate["order"].numbers["apart"] > 0  # it shuffles, which is no use of their order
    assert certificate["order"].sentence == "the order of the clients changes nothing beyond its own chance"
    assert certificate["hostile rows"].numbers["needs"] == 3


def test_doubles_out_of_floats_and_careless_settings_are_notes():
    @rule
    def loose(updates, *, share=0.5):
        return Aggregate(np.quantile(matrix_of(updates).astype(float), np.clip(share, 0.4, 0.6), axis=0))

    found = check(loose, timed=False)
    assert found.passed
    assert found["form"].verdict == "note"
    assert "float64 out" in found["form"].sentence
    assert found["settings"].sentence == "takes share=-1.0 without an error"


def test_an_alpha_that_is_no_share_of_trimmed_values_promises_nothing():
    @rule
    def smoothed(updates, *, alpha=0.9):
        return Aggregate(middle(matrix_of(updates)) * np.float32(alpha))

    assert check(smoothed, timed=False).passed
    some = check(smoothed(alpha=0.49), timed=False)["collusion"]
    assert some.sentence == "withstands 4 of 10 and 9 of 20 who collude; it is set for 4 and 9"

    @rule
    def trims_less(updates, *, alpha=0.3):
        return Aggregate(trimmed_mean(matrix_of(updates), alpha=alpha / 3).update)

    found = check(trims_less, timed=False)["collusion"]
    assert found.verdict == "note"
    assert found.sentence == "withstands 1 of 10 and 2 of 20 who collude; it is set for 3 and 6"


def test_a_plain_function_is_checked_too_and_settings_must_be_complete():
    def plain(updates):
        return Aggregate(middle(matrix_of(updates)))

    assert check(plain, timed=False).passed
    with pytest.raises(InputError, match="krum needs n_malicious"):
        check(krum.function)


def test_checking_is_silent_and_leaves_the_logs_as_they_were(caplog):
    level = logging.getLogger("holdfast").level
    with caplog.at_level(logging.DEBUG):
        check(divides_by_lengths, timed=False)
    assert not caplog.records
    assert logging.getLogger("holdfast").level == level


CENTER = None


@rule
def remembers_the_first_round(updates):
    global CENTER
    matrix = matrix_of(updates)
    CENTER = middle(matrix) if CENTER is None or len(CENTER) != matrix.shape[1] else CENTER
    return Aggregate(middle(matrix))


def cached(matrix, seen=[]):  # noqa: B006
    seen.append(len(matrix))
    return middle(matrix)


@rule
def remembers_in_a_default(updates):
    return Aggregate(cached(matrix_of(updates)))


@pytest.mark.parametrize(
    ("bad", "where"),
    [(remembers_the_first_round, "CENTER"), (remembers_in_a_default, "the defaults of cached")],
    ids=["global", "default"],
)
def test_what_a_rule_writes_outside_itself_is_named_even_where_no_result_shows_it(bad, where):
    found = check(bad, timed=False)["repeats"]
    assert found.verdict == "note"
    assert found.sentence.endswith(f"; but it changes {where}, outside it")
    SEEN.clear()
    assert ": it changes SEEN, outside it;" in check(remembers, timed=False)["repeats"].sentence


def test_the_same_rule_gets_the_same_certificate():
    first, second = (check(median, timed=False).as_dict() for _ in range(2))
    for clause in (*first["clauses"], *second["clauses"]):
        if clause["name"] == "memory":  # to the byte it is not
            clause["numbers"] = {}
    assert first == second
    json.dumps(first, allow_nan=False)


def test_time_is_one_more_clause_and_every_clause_bears_its_name():
    names = [clause.name for clause in check(median).clauses]
    assert names == list(CONTRACT)
    assert names[-1] == "time"


@pytest.mark.parametrize(
    ("power_n", "power_dim", "verdict"), [(2, 1, "pass"), (3, 1, "fail"), (1, 2, "fail")]
)
def test_growth_is_judged_by_its_powers(power_n, power_dim, verdict):
    by_clients = {n: 1e-5 * n**power_n * (1 + 0.2 * (-1) ** n) for n in (8, 16, 32, 64)}
    by_dim = {dim: 1e-7 * dim**power_dim for dim in (4096, 16384, 65536)}
    found = growth_judged(by_clients, by_dim)
    assert found.verdict == verdict
    assert found.numbers["clients"] == pytest.approx(power_n)
    assert found.numbers["dim"] == pytest.approx(power_dim)
    assert exponent({8: 5.0}) == np.inf


def test_memory_is_counted_in_copies_of_the_updates():
    @rule
    def copies_thrice(updates):
        matrix = matrix_of(updates)  # one copy, beside two more
        return Aggregate(np.median(np.concatenate([matrix, matrix]), axis=0, overwrite_input=True))

    assert 2.9 < memory(copies_thrice).numbers["copies"] < 6
    assert memory(median).numbers["copies"] < 0.5


def test_rounds_are_measured_in_spreads():
    honest = crowd()
    push = directions(honest)["aside"]
    away = attacked(honest, push, 7.0)
    changed = np.flatnonzero((away.rows != honest.rows).any(axis=1))
    assert len(changed) == 1
    assert distance(away.rows[changed[0]], honest.center, honest) == pytest.approx(7, rel=1e-5)
    assert all(np.linalg.norm(one) == pytest.approx(1) for one in directions(honest).values())
    np.testing.assert_array_equal(answer(median, honest), median(honest.rows).update)


def test_a_certificate_shows_in_a_notebook_and_finds_its_clauses():
    found = Certificate("a<b()", (passed("ids", "fine"), noted("scale", "zero is special")))
    assert found.passed
    assert found["scale"].verdict == "note"
    assert found._repr_html_().startswith("<pre>a&lt;b() passes\n")


def test_rules_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "ownrules.py").write_text(
        "from holdfast import Aggregate, median, rule\n"
        "@rule\ndef first(updates, *, n_malicious):\n    return median(updates)\n"
    )
    assert repr(rule_named("ownrules.py")) == "first(n_malicious=2)"
    for text in ("ownrules.py:first", "ownrules.first", "ownrules:first"):
        assert repr(rule_named(text, {"first.n_malicious": 3})) == "first(n_malicious=3)"
    with pytest.raises(InputError, match=r"ownrules\.py holds no rule 'last'; it has: first\."):
        rule_named("ownrules.py:last")
    with pytest.raises(InputError, match="no rule 'kurm'; did you mean 'krum'"):
        rule_named("kurm")
    with pytest.raises(InputError, match="has no setting 'tau'"):
        rule_named("median", {"tau": 0.6})
