"""Makes mlp_sgd.json with PyTorch: the losses of 20 SGD steps of a small MLP. Run it by hand; the tests only read."""

from __future__ import annotations

import json
from pathlib import Path

import torch  # type: ignore[import-not-found]  # only the benchmarks' environment has it

SIZES = [4, 5, 2]
LR, MOMENTUM, DECAY = 0.1, 0.9, 0.01


def pattern(*shape: int, start: float) -> torch.Tensor:
    """Numbers that both sides can make: a sine over the places."""
    count = torch.arange(int(torch.tensor(shape).prod()), dtype=torch.float64)
    return torch.sin(count + start).reshape(shape)


def losses(momentum: float, decay: float) -> list[float]:
    params = [pattern(4, 5, start=1), pattern(5, start=2), pattern(5, 2, start=3), pattern(2, start=4)]
    params = [torch.nn.Parameter(param * 0.5) for param in params]
    x, target = pattern(6, 4, start=5), pattern(6, 2, start=6)
    optimizer = torch.optim.SGD(params, lr=LR, momentum=momentum, weight_decay=decay)
    history = []
    for _ in range(20):
        hidden = torch.relu(x @ params[0] + params[1])
        loss = torch.nn.functional.mse_loss(hidden @ params[2] + params[3], target)
        history.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return history


if __name__ == "__main__":
    rows = {
        "torch": torch.__version__.split("+")[0],
        "plain": losses(0.0, 0.0),
        "momentum": losses(MOMENTUM, 0.0),
        "momentum and decay": losses(MOMENTUM, DECAY),
    }
    target = Path(__file__).parent / "mlp_sgd.json"
    target.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
