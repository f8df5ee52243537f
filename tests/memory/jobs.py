"""The jobs that the memory tests run: the document's examples, and models that train."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tinyburn import Device, Distribution, Gradients, Module, Param, Tensor, activation, nn, optim
from tinyburn.autodiff import checkpoint

AnyTensor = Tensor[Any, Any, Any]
Activation = Callable[[AnyTensor], AnyTensor]


def training_step(device: Device[Any], batch: int, d_in: int = 8, d_out: int = 4) -> Gradients[Any]:
    """Forward, loss and backward, with no name for anything in between."""
    w = Param.from_tensor(Tensor.ones((d_in, d_out), device)).val()
    b = Param.from_tensor(Tensor.zeros((d_out,), device)).val()
    x, y = Tensor.ones((batch, d_in), device), Tensor.zeros((batch, d_out), device)
    loss = ((x @ w + b.unsqueeze() - y) ** 2).mean()
    return loss.backward()


def named_training_step(device: Device[Any], batch: int, d_in: int = 8, d_out: int = 4) -> Gradients[Any]:
    """The same, but a local name holds the prediction until the end."""
    w = Param.from_tensor(Tensor.ones((d_in, d_out), device)).val()
    b = Param.from_tensor(Tensor.zeros((d_out,), device)).val()
    x, y = Tensor.ones((batch, d_in), device), Tensor.zeros((batch, d_out), device)
    prediction = x @ w + b.unsqueeze()
    loss = ((prediction - y) ** 2).mean()
    return loss.backward()


class Mlp(Module):
    """Linear layers with an activation between them."""

    def __init__(self, widths: list[int], between: Activation, device: Device[Any]) -> None:
        self.layers = [nn.LinearConfig(d_in, d_out).init(device) for d_in, d_out in pairwise(widths)]
        self.between = between

    def forward(self, x: AnyTensor) -> AnyTensor:
        for layer in self.layers[:-1]:
            x = self.between(layer(x))
        return self.layers[-1](x)


def train_mlp(
    device: Device[Any],
    batch: int,
    widths: tuple[int, ...] = (8, 32, 16, 4),
    between: Activation = activation.relu,
    steps: int = 3,
    momentum: float = 0.9,
) -> Mlp:
    """Some steps of SGD on one batch. The loss is a sum, which an empty batch has too."""
    model = Mlp(list(widths), between, device)
    optimizer = optim.SgdConfig(momentum=momentum).init()
    x = Tensor.random((batch, widths[0]), Distribution.Normal(0, 1), device)
    y = Tensor.zeros((batch, widths[-1]), device)
    for _ in range(steps):
        grads = nn.MseLoss()(model(x), y, reduction="sum").backward()
        model = optimizer.step(1e-3, model, grads)
    return model


def segmented_mlp(device: Device[Any], batch: int, layers: int = 6, every: int = 2, width: int = 8) -> Gradients[Any]:
    """A tanh MLP of which each segment of some layers keeps only what goes into it."""
    model = Mlp([width] * (layers + 1), activation.tanh, device)

    def run(start: int) -> Activation:
        def segment(x: AnyTensor) -> AnyTensor:
            for layer in model.layers[start : start + every]:
                x = activation.tanh(layer(x))
            return x

        return segment

    x = Tensor.ones((batch, width), device)
    for start in range(0, layers, every):
        x = checkpoint(run(start), x)
    return (x**2).sum().backward()


def normalize_batch(device: Device[Any], batch: int, features: int = 8) -> Gradients[Any]:
    """The document's normalization, and its gradient."""
    x = Tensor.random((batch, features), Distribution.Normal(0, 1), device).require_grad()
    centred = x - x.mean_dim(0)
    variance = (centred * centred).mean_dim(0)
    return ((centred / (variance + 1e-6).sqrt()) ** 3).sum().backward()


class DenseBlock(Module):
    """The document's Y = X W + b, with W from Normal(0, 0.02) and b zeros."""

    def __init__(self, d_in: int, d_out: int, device: Device[Any]) -> None:
        self.weight = Param.from_tensor(Tensor.random((d_in, d_out), Distribution.Normal(0, 0.02), device))
        self.bias = Param.from_tensor(Tensor.zeros((d_out,), device))

    def forward(self, x: AnyTensor) -> AnyTensor:
        return x @ self.weight.val() + self.bias.val().unsqueeze()


def dense_block(device: Device[Any], batch: int, d_in: int = 8, d_out: int = 4) -> AnyTensor:
    """One forward pass."""
    return DenseBlock(d_in, d_out, device)(Tensor.ones((batch, d_in), device))


def attention(device: Device[Any], batch: int, heads: int = 2, length: int = 6, size: int = 4) -> Gradients[Any]:
    """Attention over some heads: permuted views, a reshape that copies, batched products and a softmax."""
    width = heads * size
    x = Tensor.random((batch, length, width), Distribution.Normal(0, 1), device).require_grad()
    w = Param.from_tensor(Tensor.random((1, width, width), Distribution.Normal(0, 1), device)).val()

    def split(tensor: AnyTensor) -> AnyTensor:
        return tensor.reshape((batch, length, heads, size)).permute(0, 2, 1, 3)

    weights = activation.softmax(split(x @ w) @ split(x).mT, 3)
    mixed = (weights @ split(x)).permute(0, 2, 1, 3).reshape((batch, length, width))
    return (mixed * x).sum().backward()


class Cnn(Module):
    """Two convolutions with a pool after each, of which the first goes through overlapping windows, and a layer."""

    def __init__(self, device: Device[Any]) -> None:
        self.first = nn.Conv2dConfig((1, 4), 3, padding=nn.PaddingConfig2d.Same).init(device)
        self.second = nn.Conv2dConfig((4, 6), (3, 2), groups=2).init(device)
        self.max_pool = nn.MaxPool2dConfig(3, stride=2, padding=nn.PaddingConfig2d.Explicit(1, 1)).init()
        self.avg_pool = nn.AdaptiveAvgPool2dConfig(2).init()
        self.last = nn.LinearConfig(24, 3).init(device)

    def forward(self, x: AnyTensor) -> AnyTensor:
        x = self.max_pool(activation.relu(self.first(x)))
        x = self.avg_pool(activation.relu(self.second(x)))
        return self.last(x.reshape((x.shape[0], -1)))


def cnn_step(device: Device[Any], batch: int, side: int = 11) -> Any:
    model, sgd = Cnn(device), optim.SgdConfig().init()
    x = Tensor.random((batch, 1, side, side), Distribution.Normal(0, 1), device)
    y = Tensor.zeros((batch, 3), device)
    return sgd.step(0.1, model, nn.MseLoss()(model(x), y).backward())


def sized(job: Callable[..., Any], **sizes: Any) -> Callable[[Device[Any], int], Any]:
    """A job with other sizes than its own."""
    return lambda device, batch: job(device, batch, **sizes)


JOBS: dict[str, tuple[Callable[[Device[Any], int], Any], int]] = {
    "training step": (training_step, 16),
    "training step, named": (named_training_step, 16),
    "training step, one sample": (training_step, 1),
    "training step, 1 MB": (sized(training_step, d_in=128, d_out=64), 512),
    "training step, 26 MB": (sized(training_step, d_in=512, d_out=256), 4096),
    "training step, 50 MB": (sized(training_step, d_in=512, d_out=256), 8192),
    "mlp with momentum": (train_mlp, 16),
    "mlp with momentum, 20 MB": (sized(train_mlp, widths=(256, 512, 512, 64), steps=2), 2048),
    "mlp with gelu": (sized(train_mlp, between=activation.gelu), 16),
    "mlp with sigmoid": (sized(train_mlp, between=activation.sigmoid), 16),
    "mlp without momentum": (sized(train_mlp, momentum=0.0), 16),
    "mlp in segments": (segmented_mlp, 16),
    "cnn": (cnn_step, 5),
    "cnn, in pieces, 8 MB": (sized(cnn_step, side=64), 32),
    "normalize batch": (normalize_batch, 16),
    "normalize batch, 10 MB": (sized(normalize_batch, features=256), 1024),
    "attention": (attention, 3),
    "attention, 7 MB": (sized(attention, heads=4, length=64, size=16), 16),
    "dense block": (dense_block, 16),
    "dense block, empty batch": (dense_block, 0),
    "dense block, 10 MB": (sized(dense_block, d_in=1024, d_out=512), 2048),
}
"""Each job with its batch size, by a name for the test report."""
