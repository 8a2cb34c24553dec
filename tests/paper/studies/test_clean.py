import numpy as np
import pytest

from holdfast.lab.choices import build_run
from holdfast.paper.studies.clean import probe_clean_run

pytestmark = pytest.mark.slow

RUN = build_run("digits", attack="edge-case", scale="smoke")


@pytest.fixture(scope="module")
def probe():
    return probe_clean_run(RUN, exposure=0.3)


def test_a_stored_model_is_that_of_a_fresh_run(tmp_path, probe):
    stored = probe_clean_run(RUN, tmp_path, exposure=0.3)
    np.testing.assert_array_equal(stored.params, probe.params)
    for path in tmp_path.glob("*.npz"):
        path.unlink()
    np.testing.assert_array_equal(probe_clean_run(RUN, tmp_path, exposure=0.3).params, probe.params)


def test_the_gradient_is_the_slope_of_the_loss(probe):
    poisoned = probe.poisoned_examples(probe.malicious)
    gradient = probe.gradient(poisoned)
    step = 1e-3 / np.linalg.norm(gradient)
    ahead, behind = (probe.loss(probe.params + sign * step * gradient, poisoned) for sign in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * step), gradient @ gradient, rtol=0.02)


def test_nobody_attacks_while_honest_clients_hold_the_exposed_part(probe):
    edge = probe.edge_cases()
    assert len(edge[1]) == 12
    assert set(edge[1].tolist()) == {7}
    assert set(probe.poisoned_examples(probe.malicious)[1].tolist()) == {1}
    assert not set(probe.honest) & set(probe.malicious)
