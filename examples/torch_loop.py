"""A plain PyTorch loop: clients' state dicts in, the next state dict out, buffers by their own rule."""

import copy

import torch

from holdfast import bind, defend, invariant
from holdfast.buffers import BUFFERS, combined_buffers, is_named


def aggregated(model: torch.nn.Module, sent: list[dict[str, torch.Tensor]]) -> str:
    """Move the model by what the clients sent; return what happened."""
    base = model.state_dict()
    buffers = [name for name in base if is_named(name, BUFFERS)]
    trained = [name for name in base if name not in buffers]
    result = defend(
        [[state[name] for name in trained] for state in sent],
        bind(invariant, tau=0.6, alpha=0.25),
        base=[base[name] for name in trained],
    )
    used = [sent[client] for client in result.diagnostics.clients]
    moved = {name: base[name] + step for name, step in zip(trained, result.update, strict=True)}
    own = {name: base[name] for name in buffers}
    moved |= combined_buffers([{name: state[name] for name in buffers} for state in used], base=own)
    model.load_state_dict({name: torch.as_tensor(values) for name, values in moved.items()})
    return str(result.diagnostics)


def trained_by_a_client(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
    local = copy.deepcopy(model)
    optimiser = torch.optim.SGD(local.parameters(), lr=0.3)
    for _ in range(5):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(local(x), y).backward()
        optimiser.step()
    return local.state_dict()


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 2))
    for _ in range(8):
        sent = []
        for client in range(10):
            x = torch.randn(64, 2)
            y = (x.sum(dim=1) > 0).long()
            sent.append(trained_by_a_client(model, x, 1 - y if client < 2 else y))  # two of them lie
        sent[9] = {name: torch.full_like(values, 1e9) for name, values in sent[9].items()}  # and one is loud
        said = aggregated(model, sent)
    x = torch.randn(1000, 2)
    accuracy = (model.eval()(x).argmax(dim=1) == (x.sum(dim=1) > 0)).float().mean()
    print(said)
    print(f"accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main()
