"""A plain PyTorch loop: clients' state dicts in, the next state dict out, BatchNorm included."""

import copy

import torch

from holdfast import defend, krum_trimmed_mean


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
        result = defend(sent, krum_trimmed_mean(n_malicious=3), base=model.state_dict())
        model.load_state_dict(result.model)
    x = torch.randn(1000, 2)
    accuracy = (model.eval()(x).argmax(dim=1) == (x.sum(dim=1) > 0)).float().mean()
    print(result.diagnostics)
    print(f"accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main()
