"""The small model that the tests of optimizers train, and short ways to train it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.support import AnyTensor, const
from tinyburn import Device, Module, Param, nn, optim

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "optimizers.json").read_text(encoding="utf-8"))

CONFIGS: list[Any] = [
    optim.SgdConfig(),
    optim.SgdConfig(0.9, 0.1),
    optim.SgdConfig(optim.MomentumConfig(nesterov=True)),
    optim.AdamConfig(weight_decay=0.1),
    optim.AdamConfig(amsgrad=True),
    optim.AdamWConfig(),
    optim.AdaGradConfig(lr_decay=0.1),
    optim.RmsPropConfig(),
    optim.RmsPropConfig(centered=True, momentum=0.0),
    optim.LionConfig(weight_decay=0.1),
    optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.Value(0.1)),
    optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.Norm(0.1)),
    optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.GlobalNorm(0.1)),
]
"""Each optimizer, with the options that make it do something else."""


def pattern(*shape: int, start: float) -> Any:
    return np.sin(np.arange(int(np.prod(shape))) + start).reshape(shape)


class Mlp(Module):
    """Two layers with a tanh between."""

    def __init__(self, device: Device[Any]) -> None:
        starts = {(4, 5): 1.0, (5,): 2.0, (5, 2): 3.0, (2,): 4.0}
        w0, b0, w1, b1 = (
            Param.from_tensor(const(pattern(*shape, start=start) * 0.5, device)) for shape, start in starts.items()
        )
        self.layers = [nn.Linear(w0, b0), nn.Linear(w1, b1)]

    def forward(self, x: AnyTensor) -> AnyTensor:
        return self.layers[1](self.layers[0](x).tanh())


def loss_of(model: Mlp) -> AnyTensor:
    device = model.layers[0].weight.val().device
    x, target = const(pattern(6, 4, start=5), device), const(pattern(6, 2, start=6), device)
    return nn.MseLoss()(model(x), target)


def step(model: Mlp, optimizer: Any, lr: float = 0.05) -> Any:
    return optimizer.step(lr, model, (loss_of(model) * 10.0).backward())


def values(model: Module) -> list[list[float]]:
    return [param.val().to_numpy().ravel().tolist() for _, param in model.named_params()]
