"""What a user's own functions return: a mistake of theirs is refused where it enters, in one sentence."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import mlp
from holdfast.lab.scenario import Defence, Run
from holdfast.lab.simulation import simulate

from ..toy import TOY, idle

NEEDED = "the network must return a score for each of the labels 0 to 1"


class Squeezed(torch.nn.Linear):
    def __init__(self):
        super().__init__(4, 1)

    def forward(self, x):
        return super().forward(x).squeeze(1)


def first_round(task, **parts):
    return next(simulate(Run(task, **parts)))[0]


@pytest.mark.parametrize("network", [partial(mlp, sizes=(4, 6, 1)), Squeezed])
def test_a_network_without_a_score_for_every_label_is_refused(network):
    with pytest.raises(InputError, match=NEEDED):
        first_round(replace(TOY, model=network))


def test_a_prediction_of_ones_own_may_read_scores_as_it_likes():
    def above_zero(scores):
        return scores[:, 0] > 0

    task = replace(TOY, model=partial(mlp, sizes=(4, 6, 1)), train=idle, warm_epochs=1)
    assert 0 < first_round(task, defence=Defence("own", predict=above_zero)).accuracy < 1
