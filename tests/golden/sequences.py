"""Makes sequences.json: what PyTorch's recurrent layers, attention and transformers give, and their gradients.

Run by hand, in an environment with PyTorch 2.13, from the project's folder: ``python -m tests.golden.sequences``.
All is in float32. The gradients are those of the sum of the results times `weights`, in tinyburn's layout, by its
paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.golden.files import Values, numbers, write
from tests.golden.operations import weights
from tinyburn import Config, NdArray, nn

FILE = Path(__file__).with_name("sequences.json")
DTYPE = "float32"
LENGTH, MEMORY, WIDTH, HEADS = 4, 3, 6, 2
STEPS, LEARNING_RATE = 20, 0.1


class Case(NamedTuple):
    """A layer: its configuration here, and the shapes of its inputs by their names in PyTorch.

    Attributes:
        masks: the names of the masks that it gets: "pad" hides the end of the second sample, "causal" what comes later.
    """

    config: Config
    inputs: dict[str, tuple[int, ...]]
    masks: tuple[str, ...] = ()


def _recurrent() -> Iterator[tuple[str, Case]]:
    kinds: dict[str, Any] = {"RNN": nn.RnnConfig, "GRU": nn.GruConfig, "LSTM": nn.LstmConfig}
    for kind, layers, bidirectional in product(kinds, (1, 2), (False, True)):
        state = (layers * (1 + bidirectional), 2, 2)
        inputs = {"x": (2, LENGTH, 3), "hidden": state} | ({"cell": state} if kind == "LSTM" else {})
        config = kinds[kind](3, 2, num_layers=layers, bidirectional=bidirectional)
        yield f"{kind}, layers {layers}, directions {1 + bidirectional}", Case(config, inputs)
    yield "LSTM without bias", Case(nn.LstmConfig(3, 2, bias=False), {"x": (2, LENGTH, 3)})
    yield "GRU without state", Case(nn.GruConfig(3, 2), {"x": (1, 2, 3)})


def _transformers() -> Iterator[tuple[str, Case]]:
    x, memory = (2, LENGTH, WIDTH), (2, MEMORY, WIDTH)
    for norm_first in (False, True):
        options: dict[str, Any] = {"dropout": 0.0, "norm_first": norm_first}
        options["activation"] = "gelu" if norm_first else "relu"
        end = f", norm {'first' if norm_first else 'last'}"
        encoder = nn.TransformerEncoderConfig(WIDTH, 8, HEADS, 1, **options)
        decoder = nn.TransformerDecoderConfig(WIDTH, 8, HEADS, 1, **options)
        yield f"TransformerEncoderLayer{end}", Case(encoder, {"src": x}, ("pad", "causal"))
        yield f"TransformerDecoderLayer{end}", Case(decoder, {"tgt": x, "memory": memory}, ("causal",))


_MHA = nn.MultiHeadAttentionConfig(WIDTH, HEADS, dropout=0.0)

CASES: dict[str, Case] = {
    **dict(_recurrent()),
    "attention to itself": Case(_MHA, {"query": (2, LENGTH, WIDTH)}, ("pad", "causal")),
    "attention to others": Case(
        _MHA, {"query": (2, LENGTH, WIDTH), "key": (2, MEMORY, WIDTH), "value": (2, MEMORY, WIDTH)}
    ),
    **dict(_transformers()),
}

MODEL = nn.TransformerEncoderConfig(WIDTH, 8, HEADS, 2, dropout=0.0)
"""What the loss curve is of: two layers, with a causal mask."""


def wave(shape: Sequence[int], phase: float, scale: float = 1.0) -> Values:
    """Numbers away from kinks and ties."""
    count = np.arange(np.prod(shape, dtype=int))
    values: Values = (scale * np.sin(1.7 * count + phase)).reshape(shape).astype(DTYPE)
    return values


def inputs_of(name: str) -> dict[str, Values]:
    """The inputs of a case."""
    return {key: wave(shape, 0.3 + at) for at, (key, shape) in enumerate(CASES[name].inputs.items())}


def params_of(config: Any) -> dict[str, Values]:
    """The parameters of a configuration, by their paths. Where a normalisation multiplies, they are near 1."""
    layer = config.init(NdArray.device(float_dtype=DTYPE))
    values = {}
    for at, (path, param) in enumerate(layer.named_params()):
        values[path] = wave(param.val().shape, 0.4 + at, 0.7) + np.float32(path.endswith("gamma"))
    return values


def causal() -> Values:
    """True above the diagonal: what comes later."""
    return np.triu(np.ones((LENGTH, LENGTH), dtype=bool), 1)


def padding() -> Values:
    """True at the end of the second sample."""
    return np.array([[False] * LENGTH, [False] * (LENGTH - 1) + [True]])


# In PyTorch


def _attention(theirs: str, ours: str) -> dict[str, tuple[str, ...]]:
    joined = [f"{ours}{part}" for part in ("query", "key", "value")]
    return {
        f"{theirs}in_proj_weight": tuple(f"{part}.weight" for part in joined),
        f"{theirs}in_proj_bias": tuple(f"{part}.bias" for part in joined),
        f"{theirs}out_proj.weight": (f"{ours}output.weight",),
        f"{theirs}out_proj.bias": (f"{ours}output.bias",),
    }


def _layer(prefix: str, theirs: str, attentions: dict[str, str], norms: int) -> dict[str, tuple[str, ...]]:
    links: dict[str, tuple[str, ...]] = {}
    for name, mine in attentions.items():
        links |= _attention(f"{theirs}{name}.", f"{prefix}{mine}.")
    for name, mine in (("linear1", "pwff.linear_inner"), ("linear2", "pwff.linear_outer")):
        links |= {f"{theirs}{name}.{part}": (f"{prefix}{mine}.{part}",) for part in ("weight", "bias")}
    for at in range(1, norms + 1):
        links[f"{theirs}norm{at}.weight"] = (f"{prefix}norm_{at}.gamma",)
        links[f"{theirs}norm{at}.bias"] = (f"{prefix}norm_{at}.beta",)
    return links


def links_of(config: Any) -> dict[str, tuple[str, ...]]:
    """For each parameter in PyTorch those here, which it has one below the other, each transposed."""
    if isinstance(config, nn.MultiHeadAttentionConfig):
        return _attention("", "")
    if isinstance(config, nn.TransformerEncoderConfig):
        many = config.n_layers > 1
        prefixes = [(f"layers.{at}.", f"layers.{at}." if many else "") for at in range(config.n_layers)]
        return {k: v for mine, theirs in prefixes for k, v in _layer(mine, theirs, {"self_attn": "mha"}, 2).items()}
    if isinstance(config, nn.TransformerDecoderConfig):
        return _layer("layers.0.", "", {"self_attn": "self_attn", "multihead_attn": "cross_attn"}, 3)
    links = {}
    for layer, direction in product(range(config.num_layers), range(1 + config.bidirectional)):
        for mine, theirs in (("input", "ih"), ("hidden", "hh")):
            for part in ("weight", "bias") if config.bias else ("weight",):
                end = "_reverse" * direction
                links[f"{part}_{theirs}_l{layer}{end}"] = (f"layers.{layer}.{direction}.{mine}.{part}",)
    return links


def pytorchs(name: str) -> Any:
    """A case's module in PyTorch."""
    from torch import nn as theirs

    kind, config = name.split(",")[0].split(" ")[0], CASES[name].config
    options: Any = {"batch_first": True}
    if isinstance(config, nn.MultiHeadAttentionConfig):
        return theirs.MultiheadAttention(WIDTH, HEADS, **options)
    if isinstance(config, (nn.TransformerEncoderConfig, nn.TransformerDecoderConfig)):
        options |= {"activation": config.activation, "norm_first": config.norm_first}
        return getattr(theirs, kind)(WIDTH, HEADS, 8, dropout=0.0, **options)
    options |= {key: getattr(config, key) for key in ("bias", "num_layers", "bidirectional")}
    return getattr(theirs, kind)(3, 2, **options)


def _called(name: str, module: Any, inputs: dict[str, Any]) -> list[Any]:
    """The results of a case's module, in the order of tinyburn's."""
    import torch

    masks: dict[str, Any] = {}
    if "x" in inputs:
        states = [inputs[key] for key in ("hidden", "cell") if key in inputs]
        outputs, finals = module(inputs["x"], tuple(states) if len(states) == 2 else (states or [None])[0])
        return [outputs, *(finals if isinstance(finals, tuple) else (finals,))]
    if "query" in inputs:
        if CASES[name].masks:
            masks = {"attn_mask": torch.tensor(causal()), "key_padding_mask": torch.tensor(padding())}
        three = [inputs.get(key, inputs["query"]) for key in ("query", "key", "value")]
        return list(module(*three, average_attn_weights=False, **masks))
    if "src" in inputs:
        masks = {"src_mask": torch.tensor(causal()), "src_key_padding_mask": torch.tensor(padding())}
    else:
        masks = {"tgt_mask": torch.tensor(causal())}
    return [module(*inputs.values(), **masks)]


def _load(module: Any, config: Any) -> None:
    import torch

    params = params_of(config)
    joined = {theirs: np.concatenate([params[path].T for path in mine]) for theirs, mine in links_of(config).items()}
    module.load_state_dict({theirs: torch.tensor(values) for theirs, values in joined.items()})


def _gradients(module: Any, config: Any) -> dict[str, list[float]]:
    found = {}
    for theirs, mine in links_of(config).items():
        parts = np.split(module.get_parameter(theirs).grad.numpy(), len(mine))
        found |= {path: numbers(part.T) for path, part in zip(mine, parts, strict=True)}
    return found


def _made(name: str) -> dict[str, Any]:
    import torch

    module, config = pytorchs(name), CASES[name].config
    _load(module, config)
    leaves = {key: torch.tensor(values).requires_grad_() for key, values in inputs_of(name).items()}
    results = _called(name, module, leaves)
    total: Any = sum((result * torch.tensor(weights(tuple(result.shape), DTYPE))).sum() for result in results)
    total.backward()
    gradients = {key: numbers(leaf.grad.numpy()) for key, leaf in leaves.items()}
    return {
        "values": [numbers(result.detach().numpy()) for result in results],
        "gradients": gradients | _gradients(module, config),
    }


def _curve() -> list[float]:
    """The losses of a few steps of SGD."""
    import torch
    from torch import nn as theirs

    layer = theirs.TransformerEncoderLayer(WIDTH, HEADS, 8, dropout=0.0, activation="gelu", batch_first=True)
    model = theirs.TransformerEncoder(layer, 2)
    _load(model, MODEL)
    sgd = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    x, y, mask = torch.tensor(wave((2, LENGTH, WIDTH), 0.3)), torch.tensor(wave((2, LENGTH, WIDTH), 1.1)), causal()
    losses = []
    for _ in range(STEPS):
        loss = theirs.functional.mse_loss(model(x, mask=torch.tensor(mask)), y)
        losses.append(float(str(loss.detach().numpy())))
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    return losses


def main() -> None:
    """Writes the file."""
    write(FILE, {**{name: _made(name) for name in CASES}, "loss curve": _curve()})


if __name__ == "__main__":
    main()
