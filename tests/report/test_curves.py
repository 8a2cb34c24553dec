import pytest

pytest.importorskip("matplotlib")

from holdfast.report.curves import curves, sensitivity

from .documents import cell, experiment, spread

RUNS = (
    {"accuracy": [0.5, 0.9], "attack_success": [0.1, 0.3]},
    {"accuracy": [0.7, 0.8], "attack_success": [0.2, 0.5]},
)


def test_a_line_is_the_mean_in_a_band_of_all_seeds():
    figure = curves({"median": RUNS}, title="a title")
    accuracy, success = figure.axes
    assert accuracy.lines[0].get_xdata().tolist() == [1, 2]
    assert accuracy.lines[0].get_ydata().tolist() == pytest.approx([0.6, 0.85])
    assert success.lines[0].get_ydata().tolist() == pytest.approx([0.15, 0.4])
    band = success.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0.1, 0.5)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["median"]


def test_no_two_defences_look_alike():
    lines = curves({f"rule {number}": RUNS for number in range(18)}, title="all").axes[0].lines
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}
    assert len(looks) == 18


def test_without_a_backdoor_the_panel_says_so():
    plain = {"accuracy": [0.5, 0.9], "attack_success": [None, None]}
    success = curves({"median": [plain]}, title="plain").axes[1]
    assert not success.lines
    assert success.texts[0].get_text() == "no backdoor in this attack"


def at(task, x, success):
    """Return a cell with 0.9 accuracy and this attack success, each from 0.05 below to 0.1 above."""
    measured = {
        name: {**spread(mean), "low": mean - 0.05, "high": mean + 0.1}
        for name, mean in (("accuracy", 0.9), ("attack_success", success))
    }
    stands_in = "cifar10" if task == "digits" else None
    return cell("FedAvg", {}, task=task, column=task, x=x, measured=measured, stands_in_for=stands_in)


def test_a_setting_has_one_panel_per_task_with_the_means_and_the_seeds_spread():
    cells = [at("phishing", 0.2, 0.5), at("phishing", 0.6, 0.1), at("digits", 0.2, 0.7)]
    cells.append({**at("cifar10", 0.2, 0.7), "measured": None})
    phishing, digits = sensitivity(experiment(cells, axis="τ"), scale="cpu").axes
    accuracy, success = phishing.containers
    assert accuracy.lines[0].get_ydata().tolist() == [0.9, 0.9]
    assert success.lines[0].get_xdata().tolist() == [0.2, 0.6]
    assert success.lines[0].get_ydata().tolist() == [0.5, 0.1]
    lower, upper = success.lines[1]
    assert lower.get_ydata().tolist() == pytest.approx([0.45, 0.05])
    assert upper.get_ydata().tolist() == pytest.approx([0.6, 0.2])
    assert digits.get_title(loc="left") == "digits, for cifar10"
    assert phishing.get_xlabel() == "τ"
