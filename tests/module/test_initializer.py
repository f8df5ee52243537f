"""How parameters start: by statistics with bounds, since draws differ; and what holds exactly, exactly.

Of n draws with standard deviation s, the mean is off by s / sqrt(n), and the standard deviation by s / sqrt(2 n) at
most, in the same measure. The bounds are five times that, so about one seed in a million would fail.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from tests.support import UnderTest, Values
from tinyburn import Autodiff, ConfigError, Initializer, Meta, NdArray, Traced, nn
from tinyburn.module.initializer import AnyInitializer

ROWS, COLUMNS = 200, 300
N = ROWS * COLUMNS

NORMAL: dict[str, tuple[AnyInitializer, float, float]] = {
    "Normal": (Initializer.Normal(0.5, 0.2), 0.5, 0.2),
    "KaimingNormal": (Initializer.KaimingNormal(math.sqrt(2)), 0.0, math.sqrt(2 / ROWS)),
    "KaimingNormal, fan out": (Initializer.KaimingNormal(1.0, fan_out_only=True), 0.0, math.sqrt(1 / COLUMNS)),
    "XavierNormal": (Initializer.XavierNormal(0.5), 0.0, 0.5 * math.sqrt(2 / (ROWS + COLUMNS))),
}
UNIFORM: dict[str, tuple[AnyInitializer, float, float]] = {
    "Uniform": (Initializer.Uniform(-1.0, 3.0), -1.0, 3.0),
    **{
        name: (made, -bound, bound)
        for name, made, bound in (
            ("KaimingUniform", Initializer.KaimingUniform(), 1 / math.sqrt(ROWS)),
            ("KaimingUniform, relu", Initializer.KaimingUniform(math.sqrt(2)), math.sqrt(6 / ROWS)),
            ("KaimingUniform, fan out", Initializer.KaimingUniform(1.0, True), math.sqrt(3 / COLUMNS)),
            ("XavierUniform", Initializer.XavierUniform(), math.sqrt(6 / (ROWS + COLUMNS))),
        )
    },
}
"""Each with its mean and standard deviation, or with its ends."""


def drawn(
    initializer: AnyInitializer, base: UnderTest, shape: tuple[int, ...] = (ROWS, COLUMNS), **fans: int
) -> Values:
    device = base.device("float32")
    device.seed(3)
    values: Values = initializer.init(shape, device, **fans).val().to_numpy()
    assert values.shape == shape
    assert values.dtype == np.float32
    return values.astype(np.float64)


def assert_spread(values: Values, mean: float, std: float) -> None:
    assert abs(values.mean() - mean) < 5 * std / math.sqrt(values.size)
    assert abs(values.std() - std) < 5 * std / math.sqrt(2 * values.size)


@pytest.mark.parametrize("name", NORMAL)
def test_a_bell_curve(name: str, base: UnderTest) -> None:
    initializer, mean, std = NORMAL[name]
    values = drawn(initializer, base)
    assert_spread(values, mean, std)
    within = (abs(values - mean) < std).mean()  # 68.27 % of a bell curve
    assert abs(within - 0.6827) < 5 * math.sqrt(0.6827 * 0.3173 / N)


@pytest.mark.parametrize("name", UNIFORM)
def test_each_number_alike(name: str, base: UnderTest) -> None:
    initializer, low, high = UNIFORM[name]
    values = drawn(initializer, base)
    assert_spread(values, (low + high) / 2, (high - low) / math.sqrt(12))
    assert low - 1e-6 <= values.min() < low + (high - low) / 1000
    assert high - (high - low) / 1000 < values.max() <= high + 1e-6


def truncated_moments(low: float, high: float) -> tuple[float, float]:
    """Mean and standard deviation of the part of the standard bell curve in an interval, by adding up its height."""
    x = np.linspace(low, high, 100_001)
    height = np.exp(-x * x / 2)
    mean = (x * height).sum() / height.sum()
    return mean, math.sqrt(((x - mean) ** 2 * height).sum() / height.sum())


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (0.0, 1.0), (1.5, 3.0), (-50.0, 50.0), (-50.0, -1.0)])
def test_a_part_of_a_bell_curve(low: float, high: float, base: UnderTest) -> None:
    mean, std = truncated_moments(max(low, -9.0), min(high, 9.0))
    made = Initializer.TruncatedNormal(10.0, 0.5, 10.0 + 0.5 * low, 10.0 + 0.5 * high)
    values = drawn(made, base)
    assert 10 + 0.5 * low - 1e-6 <= values.min()
    assert values.max() <= 10 + 0.5 * high + 1e-6
    assert_spread(values, 10.0 + 0.5 * mean, 0.5 * std)


@pytest.mark.parametrize("shape", [(40, 40), (60, 20), (20, 60), (10, 3, 4), (30, 2, 3), (1, 5), (5, 1)])
def test_an_orthogonal_matrix(shape: tuple[int, ...], base: UnderTest) -> None:
    matrix = drawn(Initializer.Orthogonal(2.0), base, shape).reshape(shape[0], -1) / 2
    product = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(product, np.eye(len(product)), atol=3e-6)


def test_any_rotation_is_as_likely_as_another(base: UnderTest) -> None:
    """The first entry of a random unit vector in 3 dims is uniform in [-1, 1] (Archimedes), so its square's mean is
    1/3; and the signs of the rows are as often + as -."""
    device = base.device("float32")
    device.seed(5)
    corners = np.array([Initializer.Orthogonal().init((3, 3), device).val().to_numpy()[2] for _ in range(200)])
    assert abs((corners[:, 0] ** 2).mean() - 1 / 3) < 5 * math.sqrt(4 / 45 / 200)
    assert abs(np.sign(corners).mean()) < 5 / math.sqrt(600)


EVERY: dict[str, AnyInitializer] = {
    **{name: row[0] for name, row in (NORMAL | UNIFORM).items()},
    "TruncatedNormal": Initializer.TruncatedNormal(),
    "Orthogonal": Initializer.Orthogonal(),
    "Constant": Initializer.Constant(0.25),
    "Zeros": Initializer.Zeros,
    "Ones": Initializer.Ones,
}


def test_every_initializer_is_tried() -> None:
    named = {type(getattr(Initializer, name)).__name__ if not isinstance(getattr(Initializer, name), type) else name
             for name in vars(Initializer) if name[0].isupper()}  # fmt: skip
    assert {type(initializer).__name__ for initializer in EVERY.values()} == named
    assert all(is_dataclass(initializer) and fields(initializer) for initializer in EVERY.values())


@pytest.mark.parametrize("name", EVERY)
def test_the_same_seed_starts_the_same(name: str, base: UnderTest) -> None:
    device = base.inside(Autodiff).device()
    made = []
    for _ in range(2):
        device.seed(11)
        made.append(EVERY[name].init((6, 5), device).val())
    assert made[0].is_require_grad
    assert (made[0].to_numpy() == made[1].to_numpy()).all()


@pytest.mark.parametrize("name", EVERY)
def test_shapes_alone_write_the_same_log(name: str) -> None:
    logs: list[Any] = []
    for backend in (Traced[NdArray], Traced[Meta]):
        device: Any = backend.device()
        param = EVERY[name].init((6, 5), device)
        logs.append((device.log.events[:], device.log.names[:]))
        assert device.memory_usage().bytes_in_use == param.val().payload_bytes
    assert logs[0] == logs[1]


def test_a_layer_says_its_fans() -> None:
    """The bias of a layer starts in the range of its weight, which its own shape does not tell."""
    device = NdArray.device()
    device.seed(1)
    layer = nn.LinearConfig(10, 2000, initializer=Initializer.XavierUniform()).init(device)
    assert layer.bias is not None
    bound = math.sqrt(6 / 2010)
    assert bound * 0.98 < abs(layer.bias.val().to_numpy()).max() <= bound


def test_what_a_shape_does_not_tell() -> None:
    device = NdArray.device()
    for initializer, word in (
        (Initializer.KaimingNormal(), "fan_in"),
        (Initializer.KaimingUniform(1.0, True), "fan_out"),
    ):
        with pytest.raises(ConfigError, match=f"give it, as in .init\\(shape, device, {word}=...\\)"):
            initializer.init((4, 3, 5, 5), device)
    given = drawn(Initializer.KaimingUniform(), UnderTest(NdArray), (4, 3, 5, 5), fan_in=75)
    assert abs(given).max() <= 1 / math.sqrt(75)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="use another initializer for a bias, or bias=False"):
        nn.LinearConfig(3, 2, initializer=Initializer.Orthogonal()).init(NdArray.device())
    with pytest.raises(ConfigError, match="low is not below high"):
        Initializer.TruncatedNormal(0.0, 1.0, 2.0, 2.0)
    with pytest.raises(ConfigError, match="a standard deviation is above 0"):
        Initializer.TruncatedNormal(0.0, 0.0)
