"""Makes optimizers.json with PyTorch: 100 steps of a small MLP by each optimizer. Run by hand; the tests only read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]  # only the benchmarks' environment has it

STEPS, EVERY = 100, 10
optim, schedulers, utils = torch.optim, torch.optim.lr_scheduler, torch.nn.utils


def pattern(*shape: int, start: float) -> torch.Tensor:
    """Numbers that both sides can make: a sine over the places."""
    count = torch.arange(int(torch.tensor(shape).prod()), dtype=torch.float64)
    return torch.sin(count + start).reshape(shape)


def trained(kind: Any, options: dict[str, Any], clip: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Some losses on the way, and the parameters at the end."""
    params = [pattern(4, 5, start=1), pattern(5, start=2), pattern(5, 2, start=3), pattern(2, start=4)]
    params = [torch.nn.Parameter(param * 0.5) for param in params]
    x, target = pattern(6, 4, start=5), pattern(6, 2, start=6)
    optimizer = kind(params, **options)
    losses = []
    for step in range(STEPS):
        loss = torch.nn.functional.mse_loss(torch.tanh(x @ params[0] + params[1]) @ params[2] + params[3], target)
        if step % EVERY == 0:
            losses.append(loss.item())
        optimizer.zero_grad()
        (10 * loss).backward()  # so that clipping has something to do
        if clip is not None:
            clip(params)
        optimizer.step()
    return {"losses": losses, "parameters": [param.detach().flatten().tolist() for param in params]}


def clip_each(params: Any) -> None:
    for param in params:
        utils.clip_grad_norm_([param], 0.5)


# By the name of the config and its options in tinyburn, with the learning rate: the class and its options in PyTorch.
SMALL = 1e-5  # the epsilon of Burn
CASES: list[tuple[str, dict[str, Any], float, Any, dict[str, Any]]] = [
    ("SgdConfig", {}, 0.02, optim.SGD, {}),
    ("SgdConfig", {"momentum": 0.9, "weight_decay": 0.01}, 0.01, optim.SGD, {"momentum": 0.9, "weight_decay": 0.01}),
    (
        "SgdConfig",
        {"momentum": {"momentum": 0.9, "dampening": 0.1, "nesterov": False}},
        0.01,
        optim.SGD,
        {"momentum": 0.9, "dampening": 0.1},
    ),
    (
        "SgdConfig",
        {"momentum": {"momentum": 0.8, "dampening": 0.0, "nesterov": True}, "weight_decay": 0.01},
        0.01,
        optim.SGD,
        {"momentum": 0.8, "nesterov": True, "weight_decay": 0.01},
    ),
    ("AdamConfig", {}, 0.01, optim.Adam, {"eps": SMALL}),
    (
        "AdamConfig",
        {"beta_1": 0.8, "beta_2": 0.95, "weight_decay": 0.1, "amsgrad": True, "epsilon": 1e-8},
        0.01,
        optim.Adam,
        {"betas": (0.8, 0.95), "weight_decay": 0.1, "amsgrad": True},
    ),
    ("AdamWConfig", {}, 0.01, optim.AdamW, {"eps": SMALL, "weight_decay": 1e-4}),
    (
        "AdamWConfig",
        {"weight_decay": 0.1, "amsgrad": True},
        0.01,
        optim.AdamW,
        {"eps": SMALL, "weight_decay": 0.1, "amsgrad": True},
    ),
    ("AdaGradConfig", {}, 0.05, optim.Adagrad, {"eps": SMALL}),
    (
        "AdaGradConfig",
        {"lr_decay": 0.02, "weight_decay": 0.05, "epsilon": 1e-3},
        0.05,
        optim.Adagrad,
        {"lr_decay": 0.02, "weight_decay": 0.05, "eps": 1e-3},
    ),
    ("RmsPropConfig", {"momentum": 0.0}, 0.005, optim.RMSprop, {"eps": SMALL}),
    ("RmsPropConfig", {}, 0.001, optim.RMSprop, {"eps": SMALL, "momentum": 0.9}),
    (
        "RmsPropConfig",
        {"centered": True, "weight_decay": 0.05, "alpha": 0.9, "momentum": 0.5, "epsilon": 1e-3},
        0.001,
        optim.RMSprop,
        {"centered": True, "weight_decay": 0.05, "alpha": 0.9, "momentum": 0.5, "eps": 1e-3},
    ),
]
CLIPS: dict[str, tuple[float, Callable[[Any], Any]]] = {
    "Value": (0.2, lambda params: utils.clip_grad_value_(params, 0.2)),
    "Norm": (0.5, clip_each),
    "GlobalNorm": (0.5, lambda params: utils.clip_grad_norm_(params, 0.5)),
}
RATES: list[tuple[str, dict[str, Any], Callable[[Any], Any]]] = [
    (
        "LinearLrSchedulerConfig",
        {"initial_lr": 0.1, "final_lr": 0.02, "num_iters": 8},
        lambda o: schedulers.LinearLR(o, 1.0, 0.2, 8),
    ),
    (
        "CosineAnnealingLrSchedulerConfig",
        {"initial_lr": 0.1, "num_iters": 20, "min_lr": 0.01},
        lambda o: schedulers.CosineAnnealingLR(o, 20, 0.01),
    ),
    ("ExponentialLrSchedulerConfig", {"initial_lr": 0.1, "gamma": 0.9}, lambda o: schedulers.ExponentialLR(o, 0.9)),
    (
        "StepLrSchedulerConfig",
        {"initial_lr": 0.1, "step_size": 3, "gamma": 0.5},
        lambda o: schedulers.StepLR(o, 3, 0.5),
    ),
]


def rates(make: Callable[[Any], Any]) -> list[float]:
    """The learning rates of 16 steps."""
    optimizer = optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    scheduler, found = make(optimizer), []
    for _ in range(16):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


if __name__ == "__main__":
    rows: dict[str, Any] = {
        "torch": torch.__version__.split("+")[0],
        "optimizers": [
            {"config": name, "options": options, "lr": lr, **trained(kind, {"lr": lr, **theirs})}
            for name, options, lr, kind, theirs in CASES
        ],
        "clipping": [
            {"clip": name, "threshold": threshold, "lr": 0.05, **trained(optim.SGD, {"lr": 0.05}, clip)}
            for name, (threshold, clip) in CLIPS.items()
        ],
        "schedulers": [{"config": name, "options": options, "rates": rates(make)} for name, options, make in RATES],
    }
    path = Path(__file__).parent / "optimizers.json"
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
