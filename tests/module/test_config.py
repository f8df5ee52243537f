"""Configurations: every choice a named field; saved and read back exactly; a bad file is one clear error."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.module.models import MlpConfig
from tests.support import BASES, UnderTest, params_with_dtype
from tinyburn import (
    Autodiff,
    BackendUnavailable,
    Config,
    ConfigError,
    Initializer,
    Meta,
    NdArray,
    RunConfig,
    Tensor,
    Traced,
    nn,
    optim,
)


@dataclass(frozen=True)
class Everything(Config):
    """A field of each kind."""

    count: int
    rate: float
    name: str = "default"
    flag: bool = False
    maybe: int | None = None
    sizes: tuple[int, ...] = (1, 2)
    inner: MlpConfig = field(default_factory=lambda: MlpConfig(2))
    options: dict[str, int] = field(default_factory=dict)


CONFIGS: list[Config] = [
    Everything(1, 0.5),
    Everything(-3, 2.0, "ünï", True, 7, (4, 5, 6), MlpConfig(9, 8, 7), {"a": 1}),
    MlpConfig(4),
    nn.LinearConfig(4, 2),
    nn.LinearConfig(4, 2, bias=False, initializer=Initializer.Normal(0.0, 0.02)),
    nn.LinearConfig(4, 2, initializer=Initializer.Constant(0.5)),
    nn.Conv1dConfig(2, 4, 3, padding=nn.PaddingConfig1d.Explicit(1, 2)),
    nn.Conv2dConfig((2, 4), (3, 2), stride=2, groups=2, padding=nn.PaddingConfig2d.Same),
    nn.ConvTranspose2dConfig((2, 4), 3, stride=(2, 3), padding_out=(1, 2)),
    nn.MaxPool2dConfig(2, padding=nn.PaddingConfig2d.Explicit(1, 1), dilation=(1, 2)),
    nn.AdaptiveAvgPool2dConfig((1, 2)),
    nn.LinearConfig(4, 2, initializer=Initializer.TruncatedNormal(0.0, 0.1, -0.2, 0.2)),
    nn.LinearConfig(4, 2, initializer=Initializer.KaimingNormal(1.0, fan_out_only=True)),
    optim.SgdConfig(0.9, 0.01),
    optim.SgdConfig(optim.MomentumConfig(nesterov=True), grad_clipping=optim.GradientClippingConfig.Norm(1.0)),
    optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.GlobalNorm(2.0)),
    optim.ComposedLrSchedulerConfig(
        (optim.LinearLrSchedulerConfig(0.1, 1.0, 10), optim.CosineAnnealingLrSchedulerConfig(0.1, 50, warmup=5))
    ),
    nn.TransformerEncoderConfig(8, 16, 2, 3, initializer=Initializer.XavierNormal()),
    RunConfig(),
    RunConfig("meta", "meta", "float64", 3, False, True),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_what_is_saved_is_read_back(config: Config, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    config.save(path)
    assert type(config).load(path) == config
    assert type(config).load(str(path)) == config
    first = path.read_bytes()
    config.save(path)
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.json"]


def test_the_file_is_json_with_the_configs_name(tmp_path: Path) -> None:
    MlpConfig(4).save(tmp_path / "mlp.json")
    document = json.loads((tmp_path / "mlp.json").read_text(encoding="utf-8"))
    assert document == {"config": "MlpConfig", "d_input": 4, "d_hidden": 3, "d_output": 2}


GOOD: dict[str, Any] = {"config": "MlpConfig", "d_input": 4}
BAD_FILES: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", ["not JSON"]),
    "text": (b"hello", ["not JSON"]),
    "cut off": (b'{"config": "MlpConfig", "d_in', ["not JSON"]),
    "binary": (bytes(range(256)), ["not JSON"]),
    "an image": (b"\x89PNG\r\n\x1a\n", ["not JSON"]),
    "nested too deep": (b"[" * 100_000, []),
    "a huge number": (b'{"config": "MlpConfig", "d_input": ' + b"9" * 5000 + b"}", []),
    "a list": (b"[1, 2]", ["list", "MlpConfig"]),
    "a number": (b"3", ["int"]),
    "null": (b"null", ["NoneType"]),
    "no name": (b'{"d_input": 4}', ["None", "MlpConfig"]),
    "another config": (b'{"config": "RunConfig"}', ["'RunConfig', not 'MlpConfig'"]),
    "missing": (b'{"config": "MlpConfig"}', ["'d_input' is missing"]),
    "unknown": (json.dumps({**GOOD, "depth": 3}).encode(), ["'depth' is unknown"]),
    "text for a number": (json.dumps({**GOOD, "d_hidden": "3"}).encode(), ["d_hidden is '3'", "int"]),
    "a float for a whole number": (json.dumps({**GOOD, "d_hidden": 3.0}).encode(), ["d_hidden"]),
    "a truth value for a number": (json.dumps({**GOOD, "d_hidden": True}).encode(), ["d_hidden is True"]),
    "null for a number": (json.dumps({**GOOD, "d_hidden": None}).encode(), ["d_hidden is None"]),
    "a list for a number": (json.dumps({**GOOD, "d_hidden": [1]}).encode(), ["d_hidden"]),
    "many at once": (
        b'{"config": "MlpConfig", "d_hidden": "x", "depth": 1, "width": 2}',
        ["'d_input' is missing", "d_hidden", "'depth' is unknown", "'width' is unknown"],
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_one_clear_error(name: str, tmp_path: Path) -> None:
    content, reasons = BAD_FILES[name]
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        MlpConfig.load(path)
    text = str(caught.value)
    assert "MlpConfig.load(" in text
    assert all(reason in text for reason in reasons), text
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "initializer",
    [{"config": "Nothing"}, {"config": "Normal", "mean": "x"}, {"config": "MlpConfig", "d_input": 1}, 3, {}],
)
def test_a_nested_config_is_checked_too(initializer: Any, tmp_path: Path) -> None:
    path = tmp_path / "linear.json"
    path.write_text(json.dumps({"config": "LinearConfig", "d_input": 1, "d_output": 2, "initializer": initializer}))
    with pytest.raises(ConfigError):
        nn.LinearConfig.load(path)


def test_values_that_no_layer_can_have_are_refused_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "linear.json"
    path.write_text('{"config": "LinearConfig", "d_input": 0, "d_output": -1}')
    with pytest.raises(ConfigError, match="d_input is 0") as caught:
        nn.LinearConfig.load(path)
    assert "d_output is -1" in str(caught.value)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        MlpConfig.load(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        MlpConfig.load(tmp_path)


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """A field that JSON cannot hold fails in the middle: the old file stays, byte for byte, and nothing beside it."""
    path = tmp_path / "config.json"
    good = Everything(1, 0.5)
    good.save(path)
    before = path.read_bytes()
    bad: Any = dataclasses.replace(good, options={"a": object()})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        bad.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.json"]


def test_configs_do_not_change() -> None:
    for config in CONFIGS:
        with pytest.raises(dataclasses.FrozenInstanceError):
            config.count = 3  # type: ignore[attr-defined]


# RunConfig


@pytest.mark.parametrize(
    ("config", "backend"),
    [
        (RunConfig(), Autodiff[NdArray]),
        (RunConfig(gradients=False), NdArray),
        (RunConfig(trace=True), Autodiff[Traced[NdArray]]),
        (RunConfig(gradients=False, trace=True), Traced[NdArray]),
        (RunConfig("meta"), Autodiff[Meta]),
        (RunConfig("meta", trace=True), Autodiff[Traced[Meta]]),
    ],
    ids=str,
)
def test_a_run_config_makes_its_device(config: RunConfig, backend: Any) -> None:
    assert config.init().backend is backend


def test_one_word_changes_the_backend(base: UnderTest) -> None:
    name = base.name.lower()
    for config, made in (
        (RunConfig(name), base.inside(Autodiff)),
        (RunConfig(name, gradients=False), base),
        (RunConfig(name, trace=True), base.inside(Traced).inside(Autodiff)),
        (RunConfig(name, device=base.backend.devices()[-1]), base.inside(Autodiff)),
    ):
        device = config.init()
        assert (device.backend, device.float_dtype, device.int_dtype) == (made.backend, "float32", base.int_dtype)
        assert device.name in base.backend.devices()


@pytest.mark.parametrize(("base", "precision"), params_with_dtype("float16", "float32", "float64", backends=BASES))
def test_the_precision_is_that_of_new_tensors(base: UnderTest, precision: str) -> None:
    device = RunConfig(base.name.lower(), precision=precision).init()
    assert device.float_dtype == precision
    assert Tensor.ones((2,), device).dtype == precision


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"backend": "cuda2"}, "'cuda2' is not one of"),
        ({"precision": "float8"}, "'float8' is not one of"),
        ({"precision": "int64"}, "'int64'"),
        ({"batch_size": 0}, "batch_size 0"),
        ({"batch_size": -1}, "batch_size -1"),
    ],
)
def test_a_run_config_that_no_run_could_have(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        RunConfig(**options)


def test_every_reason_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        RunConfig(backend="x", precision="y", batch_size=0)
    assert str(caught.value).count("because") == 3


def test_a_device_that_is_not_here_is_said_by_init() -> None:
    with pytest.raises(BackendUnavailable, match="gpu:0"):
        RunConfig(device="gpu:0").init()


def test_a_run_config_prints_as_a_table() -> None:
    assert str(RunConfig(trace=True)) == (
        "setting     value\nbackend     ndarray\ndevice      None\nprecision   float32\nbatch_size  16\n"
        "gradients   True\ntrace       True"
    )


def test_other_configs_refuse_what_cannot_be() -> None:
    for make in (
        lambda: nn.LinearConfig(0, 1),
        lambda: nn.LinearConfig(1, 0),
        lambda: optim.SgdConfig(momentum=-0.1),
        lambda: optim.SgdConfig(weight_decay=float("nan")),
    ):
        with pytest.raises(ConfigError):
            make()
