from holdfast.paper import experiments_named
from holdfast.report.experiment_curves import draw_experiments


def test_what_was_not_measured_is_not_drawn(tmp_path):
    experiments = experiments_named(["table4"], scale="smoke")
    assert draw_experiments(experiments, tmp_path, tmp_path / "figures", kind="png") == []
    assert not (tmp_path / "figures").exists()
