import pytest

from holdfast import aggregators
from holdfast._support.lookup import nearest

OTHERS = ["edge-case", "collude", "flood", "cifar10", "batched_sgd.lr", "full-information"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("floo", "flood"),
        ("kurm", "krum"),
        ("nmn", "nnm"),
        ("Fed_Avg", "fedavg"),
        ("edgecase", "edge-case"),
        ("edge_case", "edge-case"),
        ("edge", "edge-case"),
        ("cifar", "cifar10"),
        ("sgd.lr", "batched_sgd.lr"),
        ("colluding", "collude"),
        ("trimed-means", "trimmed_mean"),
    ],
)
def test_a_name_that_is_nearly_right_is_recognised(typed, meant):
    assert nearest(typed, [*aggregators.__all__, *OTHERS]) == f"did you mean {meant!r}? "


@pytest.mark.parametrize("typed", ["", "x", "lr", "foo", "bar", "blood-test", "resnet", "badnets"])
def test_nothing_is_suggested_that_is_not_really_close(typed):
    assert nearest(typed, [*aggregators.__all__, *OTHERS]) == ""
