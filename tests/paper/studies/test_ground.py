import numpy as np

from holdfast.lab.choices import build_run
from holdfast.paper.studies.ground import clean_run, trained_ground
from holdfast.runs.results import checkpoint_path

RUN = clean_run(build_run("digits", attack="edge-case", scale="smoke"), exposure=0.3)


def test_a_stored_ground_is_that_of_a_fresh_run(tmp_path):
    fresh, stored = trained_ground(RUN), trained_ground(RUN, tmp_path)
    np.testing.assert_array_equal(fresh.params, stored.params)
    checkpoint_path(RUN, tmp_path).unlink()
    np.testing.assert_array_equal(trained_ground(RUN, tmp_path).params, fresh.params)


def test_the_gradient_is_the_slope_of_the_loss():
    ground = trained_ground(RUN)
    poisoned = ground.poisoned(ground.malicious)
    gradient = ground.gradient(poisoned)
    step = 1e-3 / np.linalg.norm(gradient)
    ahead, behind = (ground.loss(ground.params + sign * step * gradient, poisoned) for sign in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * step), gradient @ gradient, rtol=0.02)


def test_nobody_attacks_while_honest_clients_hold_the_exposed_part():
    ground = trained_ground(RUN)
    edge = ground.edge_cases()
    assert len(edge[1]) == 12
    assert set(edge[1].tolist()) == {7}
    assert set(ground.poisoned(ground.malicious)[1].tolist()) == {1}
    assert not set(ground.honest) & set(ground.malicious)
