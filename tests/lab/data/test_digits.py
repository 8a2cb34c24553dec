import numpy as np

from holdfast.lab.data import digits


def as_set(images):
    return {image.tobytes() for image in images}


def test_the_digits_are_those_of_the_file_each_used_once():
    data = digits()
    pool = data.pools["turned"]
    assert len(data.y_train) + len(data.y_test) + len(pool.train) + len(pool.test) == 1797
    assert data.n_classes == 10
    assert data.x_train.min() == 0.0
    assert data.x_train.max() == 1.0


def test_no_test_image_is_trained_on():
    data = digits()
    assert not as_set(data.x_train) & as_set(data.x_test)


def test_the_edge_cases_are_sevens_turned_back_and_nobody_else_holds_them():
    data = digits()
    pool = data.pools["turned"]
    turned_back = as_set(np.rot90(np.concatenate([pool.train, pool.test]), k=-1, axes=(2, 3)))
    assert pool.label == 7
    assert not as_set(pool.train) & as_set(pool.test)
    assert not turned_back & (as_set(data.x_train) | as_set(data.x_test))
    assert len(turned_back) == 60
    upright = data.x_train[data.y_train == 7].mean(axis=0)
    back = np.rot90(pool.train, k=-1, axes=(2, 3)).mean(axis=0)
    assert np.corrcoef(upright.ravel(), back.ravel())[0, 1] > 0.95


def test_the_seed_alone_decides_the_split():
    assert digits().checksum == digits().checksum
    assert digits(seed=1).checksum != digits().checksum
    assert len(digits(test_share=0.5).y_test) > len(digits().y_test)
