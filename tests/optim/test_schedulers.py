"""Learning rates: their formulas at the ends, their state, and what is refused. PyTorch's are in `test_golden.py`."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.optim.models import Mlp, step, values
from tests.support import tracked
from tinyburn import ConfigError, optim
from tinyburn.optim import (
    ComposedLrSchedulerConfig,
    ConstantLrSchedulerConfig,
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrSchedulerConfig,
    LinearLrSchedulerConfig,
    NoamLrSchedulerConfig,
    StepLrSchedulerConfig,
)


def rates(config: Any, count: int) -> list[float]:
    scheduler = config.init()
    return [scheduler.step() for _ in range(count)]


def test_constant() -> None:
    assert rates(ConstantLrSchedulerConfig(0.1), 3) == [0.1, 0.1, 0.1]


def test_linear_stays_at_its_end() -> None:
    assert rates(LinearLrSchedulerConfig(1.0, 0.5, 2), 5) == [1.0, 0.75, 0.5, 0.5, 0.5]


def test_cosine_warms_up_goes_down_and_starts_anew() -> None:
    found = rates(CosineAnnealingLrSchedulerConfig(1.0, 2, 0.2, warmup=3), 8)
    assert found == pytest.approx([0.25, 0.5, 0.75, 1.0, 0.6, 0.2, 1.0, 0.6])


def test_steps_and_powers() -> None:
    assert rates(StepLrSchedulerConfig(1.0, 2), 5) == pytest.approx([1.0, 1.0, 0.1, 0.1, 0.01])
    assert rates(ExponentialLrSchedulerConfig(1.0, 0.5), 3) == [1.0, 0.5, 0.25]


def test_noam_is_highest_after_its_warm_up() -> None:
    found = rates(NoamLrSchedulerConfig(2.0, warmup_steps=10, model_size=4), 30)
    assert found[0] == pytest.approx(2 * 0.5 * 10**-1.5)
    assert max(found) == found[9] == pytest.approx(1 / math.sqrt(10))
    assert found[29] == pytest.approx(1 / math.sqrt(30))


def test_composed() -> None:
    parts = (LinearLrSchedulerConfig(0.0, 1.0, 2), ConstantLrSchedulerConfig(3.0))
    assert rates(ComposedLrSchedulerConfig(parts), 4) == [0.0, 1.5, 3.0, 3.0]
    assert rates(ComposedLrSchedulerConfig(parts, "sum"), 3) == [3.0, 3.5, 4.0]
    assert rates(ComposedLrSchedulerConfig(parts, "avg"), 3) == [1.5, 1.75, 2.0]


def test_a_state_that_was_read_goes_on() -> None:
    scheduler, twin = (ExponentialLrSchedulerConfig(1.0, 0.5).init() for _ in range(2))
    scheduler.step()
    assert scheduler.state() == {"scheduler": "ExponentialLrSchedulerConfig", "steps": 1}
    twin.load_state(scheduler.state())
    assert scheduler.step() == twin.step() == 0.5
    with pytest.raises(ConfigError) as caught:
        twin.load_state({"scheduler": "Other", "steps": -1, "more": 3})
    for reason in ("it is the state of Other", "steps is -1", "the name 'more' is unknown"):
        assert f"because {reason}" in str(caught.value)


WRONG: dict[str, tuple[Any, str]] = {
    "lr": (lambda: ConstantLrSchedulerConfig(-1.0), "lr is -1.0, and must be a finite number of 0 or more"),
    "num_iters": (lambda: LinearLrSchedulerConfig(1.0, 0.0, 0), "num_iters is 0, and must be 1 or more"),
    "min_lr": (lambda: CosineAnnealingLrSchedulerConfig(0.1, 3, 0.2), "min_lr is 0.2, and must be at most initial_lr"),
    "warmup": (lambda: CosineAnnealingLrSchedulerConfig(0.1, 3, warmup=-1), "warmup is -1"),
    "gamma": (lambda: ExponentialLrSchedulerConfig(0.1, 1.5), "gamma is 1.5, and must be above 0 and at most 1"),
    "step_size": (lambda: StepLrSchedulerConfig(0.1, 0), "step_size is 0"),
    "noam": (lambda: NoamLrSchedulerConfig(math.nan), "factor is nan"),
    "none": (lambda: ComposedLrSchedulerConfig(()), "there are no schedulers"),
    "no config": (lambda: ComposedLrSchedulerConfig((0.1,)), "0.1 is no config of a scheduler"),  # type: ignore[arg-type]
    "reduction": (
        lambda: ComposedLrSchedulerConfig((ConstantLrSchedulerConfig(0.1),), "max"),
        "not one of avg, sum, prod",
    ),
}


@pytest.mark.parametrize(("make", "says"), WRONG.values(), ids=WRONG)
def test_settings_that_no_scheduler_can_have(make: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make()


def test_a_scheduler_in_the_place_of_its_rate() -> None:
    model, scheduler = Mlp(tracked()), ConstantLrSchedulerConfig(0.05).init()
    wrong: Any = scheduler
    with pytest.raises(ConfigError, match=r"LrScheduler is no learning rate\n  hint: write scheduler.step\(\)"):
        step(model, optim.SgdConfig().init(), wrong)
    assert values(step(model, optim.SgdConfig().init(), scheduler.step())) == values(
        step(model, optim.SgdConfig().init())
    )


def test_a_composed_config_is_saved_and_read(tmp_path: Any) -> None:
    config = NoamLrSchedulerConfig(0.1)
    config.save(tmp_path / "noam.json")
    assert NoamLrSchedulerConfig.load(tmp_path / "noam.json") == config


# Optimizers' own settings


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: optim.AdamConfig(beta_1=1.0), "beta_1 is 1.0, and must be from 0 to below 1"),
        (lambda: optim.AdamWConfig(beta_2=-0.1, epsilon=0.0), "epsilon is 0.0, and must be a finite number above 0"),
        (lambda: optim.AdaGradConfig(lr_decay=math.inf), "lr_decay is inf"),
        (lambda: optim.RmsPropConfig(alpha=2.0), "alpha is 2.0"),
        (lambda: optim.LionConfig(weight_decay=-1.0), "weight_decay is -1.0"),
        (lambda: optim.MomentumConfig(dampening=math.nan), "dampening is nan"),
    ],
)
def test_settings_that_no_optimizer_can_have(make: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make()
