"""What layers that convolve and pool refuse, and how their parameters start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support import plain, tracked
from tinyburn import ConfigError, DTypeMismatch, Meta, NdArray, ShapeError, Tensor, nn

DEVICE = plain("float32")
SAME = nn.PaddingConfig2d.Same


def images(*shape: int) -> Any:
    return Tensor.ones(shape, DEVICE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Conv1dConfig(0, 2, 3), "channels_in is 0, and must be a whole number of 1 or more"),
        (lambda: nn.Conv2dConfig((4, 6), 3, groups=4), "channels out is 6, and 4 groups do not share it evenly"),
        (lambda: nn.Conv2dConfig((1, 2), (3, 0)), "kernel_size is 0"),
        (lambda: nn.Conv2dConfig((1, 2), (3, 3, 3)), "kernel_size has 3 numbers, and there are 2 spatial dims"),
        (lambda: nn.Conv2dConfig((1, 2), 3, stride=0), "stride is 0"),
        (lambda: nn.Conv2dConfig((1, 2, 3), 3), "must be a pair"),  # type: ignore[arg-type]
        (lambda: nn.Conv2dConfig((1, 2), 3, padding=nn.PaddingConfig2d.Explicit(-1, 0)), "padding is -1"),
        (lambda: nn.Conv2dConfig((1, 2), 3, padding=nn.PaddingConfig3d.Explicit(1, 1, 1)), "padding has 3 sizes"),
        (lambda: nn.ConvTranspose2dConfig((1, 2), 3, padding_out=1), "must be below the stride, which is 1"),
        (lambda: nn.ConvTranspose1dConfig((1, 2), 3, padding=-1), "padding is -1, and must be a whole number of 0"),
        (lambda: nn.MaxPool2dConfig(0), "kernel_size is 0"),
        (lambda: nn.AdaptiveAvgPool2dConfig((0, 1)), "output_size is 0"),
    ],
)
def test_a_config_refuses_what_cannot_be(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("layer", "x", "messages"),
    [
        (
            nn.Conv2dConfig((3, 8), 5).init(DEVICE),
            images(2, 1, 4, 8),
            [
                "has 1 channels in dim 1, and the layer reads 3",
                "dim 2 has length 4 and padding 0 [+] 0, and a window of 5",
            ],
        ),
        (nn.Conv2dConfig((3, 8), 5).init(DEVICE), images(3, 8, 8), ["rank 3; with samples", "hint: a sample becomes"]),
        (nn.Conv1dConfig(1, 1, 2, dilation=3).init(DEVICE), images(1, 1, 3), ["with its places 3 apart spans 4"]),
        (nn.MaxPool2dConfig(3).init(), images(1, 1, 5, 2), [r"dim 3 has length 2", r"the length \(length \+ padding"]),
        (nn.ConvTranspose2dConfig((2, 2), 1, padding=2).init(DEVICE), images(1, 2, 3, 3), ["leaves nothing"]),
        (nn.ConvTranspose2dConfig((2, 2), 1).init(DEVICE), images(1, 3, 3, 3), ["the layer reads 2"]),
        (nn.AdaptiveAvgPool1dConfig(2).init(), images(1, 1, 0), ["dim 2 has length 0"]),
    ],
)
def test_an_input_that_does_not_fit_is_told_why(layer: Any, x: Any, messages: list[str]) -> None:
    with pytest.raises(ShapeError) as caught:
        layer(x)
    for message in messages:
        assert caught.match(message)


def test_another_dtype_or_device_is_refused() -> None:
    layer = nn.Conv2dConfig((1, 2), 1).init(DEVICE)
    with pytest.raises(DTypeMismatch, match="takes a float tensor"):
        layer(images(1, 1, 2, 2).int())
    with pytest.raises(DTypeMismatch, match="dtypes differ"):
        layer(images(1, 1, 2, 2).cast("float64"))
    with pytest.raises(DTypeMismatch, match="takes a float tensor"):
        nn.MaxPool2dConfig(1).init()(images(1, 1, 2, 2).int())


@pytest.mark.parametrize(
    ("config", "weight", "inputs"),
    [
        (nn.Conv1dConfig(4, 6, 3, groups=2), (6, 2, 3), 6),
        (nn.Conv2dConfig((4, 6), (3, 2)), (6, 4, 3, 2), 24),
        (nn.Conv3dConfig((1, 2), 2), (2, 1, 2, 2, 2), 8),
        (nn.ConvTranspose1dConfig((4, 6), 3, groups=2), (4, 3, 3), 9),
        (nn.ConvTranspose2dConfig((4, 6), 2), (4, 6, 2, 2), 24),
    ],
)
def test_parameters_have_burns_layout_and_range(config: Any, weight: tuple[int, ...], inputs: int) -> None:
    layer = config.init(tracked())
    assert layer.weight.val().shape == weight
    assert layer.bias.val().shape == (6,) or layer.bias.val().shape == (2,)
    bound = inputs**-0.5
    for _, parameter in layer.named_params():
        assert abs(parameter.val().to_numpy()).max() <= bound


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("length", [1, 4, 9])
def test_same_padding_divides_the_length_by_the_stride(stride: int, size: int, length: int) -> None:
    device = Meta.device()
    x = Tensor.ones((1, 1, length, 7), device)
    result = nn.Conv2dConfig((1, 1), (size, 3), stride=(stride, 1), padding=SAME).init(device)(x)
    assert result.shape == (1, 1, -(-length // stride), 7)


def test_padding_may_differ_on_each_side() -> None:
    padding = nn.PaddingConfig2d.Explicit(1, 0, 0, 2)
    pool = nn.MaxPool2dConfig(1, padding=padding).init()
    found = pool(images(1, 1, 1, 1)).to_numpy()[0, 0]
    assert found.tolist() == [[-float("inf")] * 3, [1.0, -float("inf"), -float("inf")]]


def test_a_layer_shows_its_windows() -> None:
    layer = nn.Conv2dConfig((1, 2), 3, stride=2, padding=SAME).init(NdArray.device())
    assert "windows: 3x3, stride 2x2, padding Same" in repr(layer)
    assert "windows: 2x2, stride 2x2" in repr(nn.MaxPool2dConfig(2).init())
