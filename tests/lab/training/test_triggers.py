import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import build_network, lstm, small_cnn
from holdfast.lab.training.triggers import Triggers, draw_triggers, invert_triggers, stamp

from .cases import network, small_mlp

UNIT = (torch.tensor(0.0), torch.tensor(1.0))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def backdoored():
    """Return a network that takes any image with a white upper left corner for a 3, and what it sees."""
    x = torch.rand(60, 1, 8, 8, generator=generator())
    y = torch.randint(3, (60,), generator=generator())  # of no meaning: what counts is the corner
    x[torch.arange(60), 0, y * 2 + 2, 4] += 3
    bad = x.clone()
    bad[:, :, :2, :2] = 1.0
    x[:, :, :2, :2] = 0.0
    model = build_network(lambda: small_cnn(n_classes=4), seed=0)
    steps = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        steps.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            model(torch.cat([x, bad])), torch.cat([y, torch.full_like(y, 3)])
        )
        loss.backward()
        steps.step()
    return model, x


@pytest.fixture(scope="module")
def found():
    model, x = backdoored()
    start = draw_triggers(1, x[0], span=UNIT, generator=generator())
    eligible = torch.ones(1, len(x), dtype=torch.bool)
    return model, x, invert_triggers(model, x, torch.tensor([3]), eligible, start, span=UNIT, n_steps=150)


def test_a_planted_trigger_is_found_and_is_small(found):
    model, x, triggers = found
    assert triggers.usable.all()
    assert triggers.sizes < 0.1
    with torch.no_grad():
        answers = model(stamp(x, triggers.masks[0], triggers.patterns[0])).argmax(dim=1)
    assert (answers == 3).float().mean() >= 0.85


def test_it_is_found_where_it_was_planted(found):
    _, _, triggers = found
    mask = triggers.masks[0, 0]
    assert mask[:3, :3].sum() > 0.8 * mask.sum()
    assert (triggers.patterns[0, 0, :2, :2] * mask[:2, :2]).max() > 0.5


def test_masks_and_patterns_stay_within_their_bounds():
    model, _ = network(small_cnn)
    x = torch.rand(6, 1, 8, 8, generator=generator())
    span = torch.tensor([-0.5]), torch.tensor([2.0])
    start = draw_triggers(2, x[0], span=span, generator=generator())
    eligible = torch.ones(2, 6, dtype=torch.bool)
    triggers = invert_triggers(model, x, torch.tensor([0, 1]), eligible, start, span=span, n_steps=20)
    assert triggers.masks.shape == triggers.patterns.shape == (2, 1, 8, 8)
    assert 0 <= triggers.masks.min() <= triggers.masks.max() <= 1
    assert triggers.patterns.min() >= -0.5
    assert triggers.patterns.max() <= 2


def test_targets_sought_together_are_found_as_alone():
    model, _ = network(small_mlp)
    x = torch.randn(9, 6, generator=generator())
    span = torch.tensor(-3.0), torch.tensor(3.0)
    start = draw_triggers(3, x[0], span=span, generator=generator())
    eligible = torch.rand(3, 9, generator=generator()) < 0.7
    together = invert_triggers(model, x, torch.arange(3), eligible, start, span=span, n_steps=30)
    for k in range(3):
        own = Triggers(*(part[k : k + 1] for part in start))
        alone = invert_triggers(model, x, torch.tensor([k]), eligible[k : k + 1], own, span=span, n_steps=30)
        torch.testing.assert_close(alone.masks[0], together.masks[k], rtol=0, atol=1e-4)


def test_what_does_not_work_or_covers_too_much_is_no_trigger():
    masks = torch.tensor([[0.2, 0.2, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [0.2, 0.0, 0.0, 0.0]])
    triggers = Triggers(masks, masks, torch.tensor([True, True, False]))
    assert triggers.usable.tolist() == [True, False, False]


def test_a_network_that_reads_words_has_no_triggers_to_invert():
    model = lstm(vectors=np.ones((5, 4), np.float32), hidden=3)
    x = torch.ones(6, 7)
    start = draw_triggers(1, x[0], span=UNIT, generator=generator())
    with pytest.raises(InputError, match="no gradient reaches this network's input"):
        invert_triggers(model, x, torch.tensor([0]), torch.ones(1, 6) > 0, start, span=UNIT, n_steps=1)
