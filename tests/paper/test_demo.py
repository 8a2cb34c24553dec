from holdfast.paper.demo import DEFENCES, HONEST, demo_codes, demo_experiments


def test_both_experiments_have_every_defence_and_one_row_without_attackers():
    experiments = demo_experiments(seed=3, n_rounds=2)
    assert [experiment.title for experiment in experiments] == ["Phishing mail", "Handwritten digits"]
    for experiment in experiments:
        assert experiment.rows == tuple(DEFENCES)
        runs = {cell.row: run for cell in experiment.cells for run in cell.runs}
        assert {run.seed for run in runs.values()} == {3}
        assert {run.task.n_rounds for run in runs.values()} == {2}
        assert runs.pop(HONEST).attack.n_malicious == 0
        assert [run.defence.name for run in runs.values()] == list(DEFENCES)[1:]
        assert all(run.attack.n_malicious * 5 == run.task.n_clients for run in runs.values())


def test_the_same_rule_is_shown_with_the_watch_and_without():
    runs = {cell.row: run for cell in demo_experiments()[0].cells for run in cell.runs}
    alone, watched = runs["krum_trimmed_mean"].defence, runs["factions+krum_trimmed_mean"].defence
    assert alone.aggregate == watched.aggregate
    assert alone.watch is None
    assert watched.watch is not None


def test_each_defence_is_told_as_a_call_of_defend():
    codes = demo_codes(demo_experiments()[1])
    assert list(codes) == list(DEFENCES)[1:]
    assert codes["factions+krum_trimmed_mean"].startswith("defend(models, krum_trimmed_mean(n_malicious=4, ")
    assert ", watch=factions(), base=model, clients=ids, state=state)" in codes["factions+krum_trimmed_mean"]
