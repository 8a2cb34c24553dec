"""The benchmark of the watch, on a few clients."""

from benchmarks import watch


def test_it_measures_time_and_memory_of_a_round(monkeypatch):
    monkeypatch.setattr(watch, "interleaved", at_once)
    many = watch.many_clients(60, 256, n_apart=8)
    beside = watch.beside_aggregation(24, 3000)
    assert many["state_bytes"] == 60 * 256 * 2
    assert many["seconds"] > 0
    assert beside["ratio"] > 0
    text = watch.lines({"many clients": many, "beside aggregation": beside})
    assert text[0].startswith("many clients: 60 clients, a round ")
    assert "of a trimmed mean of 3,000 numbers" in text[1]


def at_once(call, reference, *, repeat_for, measure=watch.interleaved):
    return measure(call, reference, repeat_for=0.01)
