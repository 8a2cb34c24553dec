from holdfast.report.overview import accused_rows, conclude_evidence


def cell(defence, attack, success, task="digits"):
    measured = {"accuracy": {"mean": 0.9}, "attack_success": {"mean": success}}
    return {"task": task, "defence": defence, "attack": attack, "measured": measured}


def test_the_best_worst_case_is_that_of_the_defence_tried_with_most_attacks():
    attacks = ("edge-case", "edge-case+sleeper")
    cells = [cell("fedavg", attack, 1.0) for attack in attacks]
    cells += [cell("watched", attack, success) for attack, success in zip(attacks, (0.0, 0.33), strict=True)]
    cells += [cell("lucky", "edge-case", 0.0), cell("watched", "none", 0.01)]
    told = conclude_evidence({"experiments": [{"title": "t", "cells": cells}], "runs": {}})
    assert told.headline == "Best worst case on digits: watched, 33% under the attack that works best"
    assert told.word == "partly in"
    assert "digits, 2 attacks: watched, at worst 33.0% (edge-case+sleeper; unattacked 1.0%)." in told.reason
    assert told.command == "holdfast run digits --attack edge-case+sleeper --defence watched"
    assert told.suspects == "No run here has a watch, which would accuse clients."


def test_whom_the_watches_accused_is_summed_over_the_runs_of_a_defence():
    def run(n_found, n_wronged, **changes):
        series = {"n_found": [0, n_found], "n_wronged": [2, n_wronged]}
        names = {"defence": "watched", "attack": "edge-case", "task": "digits", "n_clients": 10}
        return {**names, "finished": True, "watch": {"malicious": [1, 2]}, "series": series, **changes}

    runs = {"a": run(2, 0), "b": run(1, 1), "c": run(2, 0, finished=False), "d": run(2, 0, watch=None)}
    (row,) = accused_rows({"runs": runs})
    assert (row.n_runs, row.n_found, row.n_attackers, row.n_wronged, row.n_honest) == (2, 3, 4, 1, 16)
    assert accused_rows({"runs": {"a": run(0, 0, series={})}})[0].n_found == 0
