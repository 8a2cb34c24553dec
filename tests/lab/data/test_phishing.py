import numpy as np

from holdfast.lab.data import phishing


def raw(data, feature):
    return data.x_train[:, feature] * data.raw_scale[feature] + data.raw_mean[feature]


def test_the_stand_in_has_the_shape_of_the_private_table():
    data = phishing()
    assert data.x_train.shape == (20_000, 45)
    assert data.x_test.shape == (4_000, 45)
    assert 0.48 < data.y_train.mean() < 0.52


def test_the_reputation_features_are_0_for_most_and_never_near_the_trigger_for_phishing():
    data = phishing()
    for feature in (37, 38, 39, 40):
        scores = raw(data, feature)
        assert 0.94 < (np.abs(scores) < 1e-5).mean() < 0.97
        assert (np.abs(scores[data.y_train == 1] - 0.2) > 0.049).all()
        assert (np.abs(scores[data.y_train == 0] - 0.2) < 0.05).any()


def test_the_trigger_lies_several_deviations_out():
    data = phishing()
    assert 3 < (0.2 - data.raw_mean[37]) / data.raw_scale[37] < 8


def test_labels_are_nearly_separable_by_a_line():
    data = phishing(n_train=4000, n_test=1000)
    line, *_ = np.linalg.lstsq(data.x_train, 2.0 * data.y_train - 1, rcond=None)
    assert ((data.x_test @ line > 0) == data.y_test).mean() > 0.99


def test_the_seed_alone_decides_the_numbers():
    one, again, other = (phishing(n_train=100, n_test=50, seed=seed) for seed in (1, 1, 2))
    assert one.checksum == again.checksum != other.checksum
