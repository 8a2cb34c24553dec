"""`defend` takes models as servers hold them, and gives the next one back in the same form."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

from holdfast import InputError, defend, fedavg, fltrust, invariant, median
from holdfast.core import Aggregate, Memory
from holdfast.defending.screening import fitting
from holdfast.updates.forms import BUFFERS
from holdfast.updates.layout import Layer

RULE = invariant(tau=0.6, alpha=0.25)


def steps(n=9, dim=7, seed=0):
    return np.random.default_rng(seed).normal(0.3, 1.0, size=(n, dim)).astype(np.float32)


BASE = np.arange(7, dtype=np.float32)
EXPECTED = defend(list(BASE + steps()), RULE, base=BASE).model

Pair = namedtuple("Pair", ["weight", "bias"])

#: Seven numbers as different servers hold them.
FORMS = {
    "one array": lambda x: x,
    "layers": lambda x: [x[:4].reshape(2, 2), x[4:]],
    "a tuple": lambda x: (x[:4].reshape(2, 2), x[4:]),
    "a state dict": lambda x: {"conv.weight": x[:4].reshape(2, 2), "conv.bias": x[4:]},
    "an ordered dict": lambda x: OrderedDict(w=x[:4], b=x[4:]),
    "a tree": lambda x: {"layers": [{"w": x[:2]}, {"w": x[2:4]}], "head": (x[4:6], x[6:])},
    "a named tuple": lambda x: Pair(x[:4], x[4:]),
}


def flat(model):
    if isinstance(model, dict):
        model = list(model.values())
    return (
        np.concatenate([flat(part) for part in model]) if isinstance(model, list | tuple) else model.ravel()
    )


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_next_model_has_the_form_of_the_base_and_the_same_numbers(form):
    base = form(BASE)
    result = defend([form(BASE + step) for step in steps()], RULE, base=base)
    assert type(result.model) is type(base)
    np.testing.assert_array_equal(flat(result.model), EXPECTED)
    np.testing.assert_array_equal(flat(result.model), BASE + flat(result.update))
    from_updates = defend([form(step) for step in steps()], RULE, like=base)
    np.testing.assert_allclose(flat(from_updates.model), EXPECTED, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_without_a_usable_client_the_old_model_comes_back_in_its_form(form):
    base = form(BASE.copy())
    result = defend([form(BASE * np.nan)] * 3, RULE, base=base, state=Memory(previous=BASE))
    assert not result.diagnostics.aggregated
    np.testing.assert_array_equal(flat(result.model), BASE)
    assert not flat(result.update).any()
    assert result.state.previous is BASE
    flat(result.model)[:] = 9
    np.testing.assert_array_equal(flat(base), BASE)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_whoever_sends_another_form_is_dropped_with_the_reason(form):
    good = [form(BASE + step) for step in steps()]
    others = [other(BASE) for other in FORMS.values() if other is not form]
    odd = [None, "me", 3.0, {}, [], {"w": None}, {1: BASE}, [BASE, BASE, BASE], np.ones((2, 3))]
    result = defend([*good, *others, *odd], RULE, base=form(BASE))
    n_alike = len(result.diagnostics.clients) - len(good)  # a tuple of layers is as good as a list
    assert n_alike == sum(
        type(other) in (list, tuple) for other in others if type(form(BASE)) in (list, tuple)
    )
    assert all(drop.reason for drop in result.diagnostics.dropped)


def test_models_by_client_id_are_named_by_it():
    sent = {f"node-{i}": {"w": BASE + step} for i, step in enumerate(steps())}
    sent["node-9"] = {"w": BASE, "extra": BASE}
    sent["node-10"] = {}
    sent["node-11"] = {"w": BASE[:3]}
    weights = dict.fromkeys(sent, 5)
    said = defend(sent, fedavg, base={"w": BASE}, weights=weights).diagnostics
    assert said.clients == tuple(f"node-{i}" for i in range(9))
    assert [str(drop) for drop in said.dropped] == [
        "client node-9: holds 'extra', unlike the server's model",
        "client node-10: lacks 'w'",
        "client node-11: wrong shape of 'w': (3,), not (7,)",
    ]


def test_the_order_of_names_in_a_clients_dict_does_not_matter():
    base = {"a": np.zeros(2), "b": np.ones(2)}
    sent = [{"b": np.full(2, 3.0), "a": np.full(2, 4.0)} for _ in range(3)]
    model = defend(sent, median, base=base).model
    assert list(model) == ["a", "b"]
    assert model["a"].tolist() == [4, 4]


def batch_norm_model(step=0.0):
    return {
        "weight": np.full(2, 1.0 + step, np.float32),
        "bn.running_var": np.full(2, 2.0 + step, np.float32),
        "bn.num_batches_tracked": np.array(3 + int(10 * step)),
    }


@pytest.mark.parametrize("rule", [fedavg, RULE], ids=str)
def test_buffers_follow_a_rule_of_their_own(rule):
    base = batch_norm_model()
    sent = [batch_norm_model(step) for step in (0.1, 0.2, 0.6)]
    bad = {**batch_norm_model(0.2), "bn.running_var": np.array([-1.0, 1.0])}
    result = defend([*sent, bad], rule, base=base, weights=[1, 1, 2, 9])
    middle = (0.1 + 0.2 + 2 * 0.6) / 4 if rule is fedavg else 0.2
    np.testing.assert_allclose(result.model["bn.running_var"], 2 + middle, rtol=1e-6)
    assert result.model["bn.num_batches_tracked"] == 5
    assert result.update["bn.num_batches_tracked"] == 2
    assert result.buffers["bn.num_batches_tracked"] == 5
    assert str(result.diagnostics.dropped[0]) == "client 3: 'bn.running_var' holds negative values"


def test_updates_of_buffers_are_differences():
    changes = [{"weight": np.ones(2), "bn.running_var": np.full(2, x), "bn.num_batches_tracked": np.array(4)}
               for x in (0.1, 0.5, 0.2)]  # fmt: skip
    model = defend(changes, median, like=batch_norm_model()).model
    np.testing.assert_allclose(model["bn.running_var"], 2.2, rtol=1e-6)
    assert model["bn.num_batches_tracked"] == 7


def test_the_operator_says_which_arrays_are_buffers():
    base = {"w": np.zeros(1), "scale": np.ones(1)}
    sent = [{"w": np.ones(1), "scale": np.full(1, x)} for x in (1.0, 2.0, 2.0)]
    assert defend(sent, RULE, base=base, buffers=["scale"]).buffers["scale"].tolist() == [2]
    assert defend(sent, RULE, base=base).buffers == {}


def test_models_passed_as_updates_are_pointed_out():
    base = np.linspace(-1, 1, 50)
    models = [base + 0.01 * step for step in steps(dim=50)]
    assert any("look like whole models" in note for note in defend(models, RULE, like=base).diagnostics.notes)
    assert not defend(list(steps(dim=50)), RULE, like=base).diagnostics.notes
    assert not any("whole" in note for note in defend(models, RULE, like=np.zeros(50)).diagnostics.notes)


def test_a_reference_has_the_form_of_the_model():
    base = batch_norm_model()
    sent = [batch_norm_model(step) for step in (0.1, 0.2, -0.2)]
    reference = {"weight": np.ones(2), "bn.running_var": np.zeros(2), "bn.num_batches_tracked": np.array(0)}
    weights = defend(sent, fltrust, base=base, reference=reference).diagnostics.client_weights
    assert (weights > 0).tolist() == [True, True, False]
    with pytest.raises(InputError, match="reference must have the form of an update: lacks 'bn"):
        defend(sent, fltrust, base=base, reference={"weight": np.ones(2)})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_tensors_come_back_as_tensors_of_their_type(dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")
    kind = getattr(torch, dtype)
    base = {"w": torch.ones(3, dtype=kind), "n": torch.tensor(4)}
    sent = [
        {"w": torch.full((3,), 1 + x, dtype=kind), "n": torch.tensor(n)} for x, n in [(1, 5), (2, 6), (3, 7)]
    ]
    result = defend(sent, median, base=base)
    assert torch.equal(result.model["w"], torch.full((3,), 3.0, dtype=kind))
    assert torch.equal(result.model["n"], torch.tensor(6))
    assert torch.equal(base["w"] + result.update["w"], result.model["w"])


def test_a_network_with_batch_norm_is_defended_in_two_lines():
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    sent = []
    for _ in range(5):
        local = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        local.load_state_dict(network.state_dict())
        local(torch.randn(8, 3))
        sent.append({name: x + 0.1 if x.is_floating_point() else x for name, x in local.state_dict().items()})

    result = defend(sent, RULE, base=network.state_dict())
    network.load_state_dict(result.model)

    assert network[1].num_batches_tracked == 1
    np.testing.assert_allclose(network[0].weight.detach(), sent[0]["0.weight"], rtol=1e-5)


def test_pytrees_of_jax_come_back_as_they_were():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    base = {"params": {"w": jax.numpy.zeros(2)}, "batch_stats": {"bn": {"var": jax.numpy.ones(2)}}}
    sent = [jax.tree.map(lambda leaf, x=x: leaf + x, base) for x in (1.0, 2.0, 3.0)]
    model = defend([*sent, {"params": {}}], median, base=base).model
    assert isinstance(model["params"]["w"], jax.Array)
    assert model["params"]["w"].tolist() == [2, 2]
    assert model["batch_stats"]["bn"]["var"].tolist() == [3, 3]


def test_a_node_that_only_jax_knows_is_taken_apart_by_it():
    jax = pytest.importorskip("jax", reason="jax is not installed")

    @jax.tree_util.register_pytree_node_class
    class Dense:
        def __init__(self, weight, bias):
            self.weight, self.bias = weight, bias

        def tree_flatten(self):
            return (self.weight, self.bias), None

        @classmethod
        def tree_unflatten(cls, _, leaves):
            return cls(*leaves)

    sent = [Dense(np.full(2, x), np.full(1, -x)) for x in (1.0, 2.0, 3.0)]
    result = defend([*sent, [np.ones(2)], "me"], median, base=Dense(np.zeros(2), np.zeros(1)))
    assert isinstance(result.model, Dense)
    assert result.model.bias.tolist() == [-2]
    assert len(result.diagnostics.dropped) == 2


@pytest.mark.parametrize(
    ("base", "says"),
    [
        ({}, "base holds no numbers"),
        ({"n": np.array(3)}, "base holds no numbers that a rule could aggregate"),
        (np.array([1, 2]), "base: wrong type: int64"),
        ({"w": "text"}, "base"),
        ({"w": np.array([np.nan])}, "holds NaN or infinite values"),
        (None, "pass base= if they sent models, like= if they sent updates"),
    ],
)
def test_a_base_that_cannot_be_is_the_callers_mistake(base, says):
    with pytest.raises(InputError, match=says):
        defend([np.ones(2)], RULE, base=base)


def test_a_base_of_tensors_that_no_rule_reads_is_told_of_by_name():
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")
    odd = {
        "a.float8": torch.ones(2).to(torch.float8_e4m3fn),
        "a.sparse": torch.eye(2).to_sparse(),
        "a.meta": torch.ones(2, device="meta"),
    }
    for name, tensor in odd.items():
        with pytest.raises(InputError, match=rf"base, '{name}': it must be a dense array of one of bfloat16"):
            defend([], RULE, base={"w": torch.ones(2), name: tensor})
    with pytest.raises(InputError, match=r"base must hold arrays; got Linear: pass its \.state_dict\(\)"):
        defend([], RULE, base=torch.nn.Linear(2, 1))


def test_a_pattern_of_buffers_that_names_nothing_is_refused():
    base = {"bn.running_mean": np.ones(2), "w": np.ones(2)}
    with pytest.raises(InputError, match=r"named 'running_mean'; did you mean '\*running_mean\*'\? There"):
        defend([base] * 3, RULE, base=base, buffers="running_mean")
    with pytest.raises(InputError, match=r"is named 'ema'\. There are: 'bn\.running_mean', 'w'"):
        defend([base] * 3, RULE, base=base, buffers=[*BUFFERS, "ema"])
    sent = [{**base, "bn.running_mean": np.full(2, x)} for x in (2.0, 3.0, 9.0)]
    assert defend(sent, RULE, base=base, buffers="*running_mean").model["bn.running_mean"].tolist() == [3, 3]


def test_a_wrong_type_is_told_of_with_the_name_of_its_array():
    base = {"w": np.ones(2), "b": np.ones(1)}
    whole = {"w": np.ones(2), "b": np.ones(1, dtype=np.int64)}
    result = defend([base, base, whole], RULE, base=base)
    assert result.diagnostics.dropped[0].reason.startswith("'b': wrong type: int64, not one of")
    result = defend([[np.ones(1), None]], RULE, base=[np.ones(1), np.ones(1)])
    assert result.diagnostics.dropped[0].reason.startswith("layer 1: neither an array")


def test_a_model_of_scalars_takes_what_clients_compute_from_it():
    base = [np.array(1.0), np.array(2.0)]
    models = [[layer + step for layer in base] for step in (1.0, 2.0, 9.0)]
    assert isinstance(models[0][0], np.float64)
    result = defend(models, median, base=base)
    assert result.model == [3.0, 4.0]
    assert defend(models, median, base=result.model).diagnostics.aggregated
    named = defend([{"a": np.float64(2)}] * 3, median, base={"a": np.array(1.0)})
    assert named.model == {"a": 2.0}


def test_a_number_in_place_of_a_layer_is_refused():
    good, numbers, many = [np.ones(2), np.ones(1)], [1.0, 2.0], [1.0] * 3
    result = defend([good, numbers, many], median, base=[np.zeros(2), np.zeros(1)])
    reasons = [drop.reason for drop in result.diagnostics.dropped]
    assert reasons == [
        "wrong shape in layer 0: (), not (2,)",
        "wrong form: one array, not a list of layers",
    ]


def test_a_rule_of_ones_own_may_return_scalars():
    def first(updates):
        return Aggregate([float(number) for number in np.asarray(updates)[0]])

    assert defend([[2.0, 3.0]] * 2, first, base=[np.array(1.0), np.array(1.0)]).model == [2.0, 3.0]


def test_masked_values_do_not_count():
    sent = np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0], [5.0, 6.0]], 9.0)
    for result in (defend(sent, median), defend(list(sent), median, like=np.zeros(2))):
        np.testing.assert_array_equal(result.update, [3.0, 4.0])
        assert "masked values" in result.diagnostics.dropped[0].reason
    assert defend(np.ma.masked_array(np.ones((3, 2))), median).diagnostics.dropped == ()
    with pytest.raises(InputError, match="base: masked values"):
        defend([np.ones(2)], median, base=sent[2])


def test_updates_without_columns_are_refused():
    with pytest.raises(InputError, match=r"updates hold no numbers: their shape is \(3, 0\)"):
        defend(np.zeros((3, 0)), median)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_of_any_kind_are_read_and_come_back_as_tensors(dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")
    kind = type("Kind", (torch.Tensor,), {})
    ones = torch.ones(3, dtype=getattr(torch, dtype))
    for sent in (
        ones.as_subclass(kind),
        ones.clone().requires_grad_().as_subclass(kind),
        torch.nn.Parameter(ones),
        torch._neg_view(-ones),
        ones.repeat(2)[::2],
    ):
        for base in (torch.zeros_like(ones), (0 * sent.detach())):
            result = defend([sent] * 3, median, base=base)
            assert isinstance(result.model, torch.Tensor)
            assert torch.equal(torch.as_tensor(result.model), ones)


def test_plain_arrays_of_clients_are_looked_at_once_and_no_more(monkeypatch):
    n_read, read = [], Layer.read
    monkeypatch.setattr(Layer, "read", lambda *given, **how: n_read.append(1) or read(*given, **how))
    base = {f"layer{i}": np.zeros(2) for i in range(50)}
    fitting([{name: np.ones(2) for name in base}] * 20, base=base)
    assert len(n_read) == 50  # the server's own
