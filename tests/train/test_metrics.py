"""Metrics against scikit-learn and against sums by hand; they do not depend on how the samples are cut."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

from tests.support import tracked
from tests.train.models import batches, learner
from tinyburn import ConfigError, NdArray, Tensor, optim, train
from tinyburn.train.step import Outcome

CLASSES = 4


def outcomes(cuts: list[int]) -> tuple[list[Outcome], Any, Any]:
    """Random scores in batches that end at the cuts, the scores, and the right classes."""
    random = np.random.default_rng(3)
    scores, right = random.normal(size=(50, CLASSES)), random.integers(0, CLASSES, 50)
    scores[7] = 0.0  # all equal
    device = NdArray.device(float_dtype="float64")
    made = []
    for start, end in zip([0, *cuts], [*cuts, 50], strict=True):
        output, target = (Tensor.from_data(part[start:end], device) for part in (scores, right))
        step = train.Step(Tensor.ones((1,), device), output, target)
        made.append(Outcome(step, float(start), end - start))
    return made, scores, right


def value_of(metric: train.Metric, cuts: list[int]) -> Any:
    metric.reset()
    for outcome in outcomes(cuts)[0]:
        metric.update(outcome)
    return metric.value


_, SCORES, RIGHT = outcomes([])
CHOSEN = SCORES.argmax(1)

EXPECTED: list[tuple[train.Metric, Any]] = [
    (train.Accuracy(), sk.accuracy_score(RIGHT, CHOSEN)),
    (train.TopK(1), sk.accuracy_score(RIGHT, CHOSEN)),
    (train.TopK(CLASSES), 1.0),
    (train.Precision(), sk.precision_score(RIGHT, CHOSEN, average="macro", zero_division=0)),
    (train.Recall(), sk.recall_score(RIGHT, CHOSEN, average="macro", zero_division=0)),
    (train.F1(), sk.f1_score(RIGHT, CHOSEN, average="macro", zero_division=0)),
    (train.Precision(2), sk.precision_score(RIGHT == 2, CHOSEN == 2)),
    (train.Recall(2), sk.recall_score(RIGHT == 2, CHOSEN == 2)),
    (train.F1(2), sk.f1_score(RIGHT == 2, CHOSEN == 2)),
    (train.ConfusionMatrix(), sk.confusion_matrix(RIGHT, CHOSEN).tolist()),
]


@pytest.mark.parametrize("cuts", [[], [1, 7, 40], list(range(1, 50))])
@pytest.mark.parametrize(("metric", "expected"), EXPECTED, ids=lambda part: getattr(part, "name", ""))
def test_they_agree_with_scikit_learn(metric: train.Metric, expected: Any, cuts: list[int]) -> None:
    np.testing.assert_allclose(value_of(metric, cuts), expected, rtol=1e-12)


def test_top_k_with_scores_that_differ() -> None:
    keep = np.arange(50) != 7
    expected = sk.top_k_accuracy_score(RIGHT[keep], SCORES[keep], k=2)
    of_equals = float(RIGHT[7] < 2)  # the first classes win
    assert value_of(train.TopK(2), [20]) == pytest.approx((expected * 49 + of_equals) / 50)


def test_means_are_weighted_by_samples() -> None:
    assert value_of(train.Loss(), [10, 40]) == pytest.approx((0 * 10 + 10 * 30 + 40 * 10) / 50)
    assert value_of(train.Perplexity(), [10, 40]) == pytest.approx(math.exp(14))


def test_before_the_first_step_there_is_no_value() -> None:
    for metric in (train.Loss(), train.F1(), train.Precision(1), train.LearningRate(), train.SamplesPerSecond()):
        metric.reset()
        assert math.isnan(metric.value)
    assert train.ConfusionMatrix().value == []


def test_a_state_goes_on_from_any_step() -> None:
    for metric, expected in EXPECTED:
        steps, _, _ = outcomes([5, 30])
        metric.reset()
        metric.update(steps[0])
        state = metric.state()
        metric.update(steps[1])  # the state is a copy
        metric.load_state(state)
        for step in steps[1:]:
            metric.update(step)
        np.testing.assert_allclose(metric.value, expected, rtol=1e-12)


def test_labels_may_be_shares() -> None:
    device = NdArray.device()
    shares = Tensor.from_data([[0.1, 0.9], [0.8, 0.2]], device)
    scores = Tensor.from_data([[0.0, 1.0], [0.0, 1.0]], device)
    metric = train.Accuracy()
    metric.update(Outcome(train.Step(Tensor.ones((1,), device), scores, shares), 1.0, 2))
    assert metric.value == 0.5


def test_a_metric_of_classes_says_what_it_needs() -> None:
    device = NdArray.device()
    outcome = Outcome(train.Step(Tensor.ones((1,), device)), 1.0, 2)
    with pytest.raises(ConfigError, match=r"scores \(batch, classes\) with labels \(batch,\)"):
        train.Accuracy().update(outcome)
    with pytest.raises(ConfigError, match="1 or more"):
        train.TopK(0)
    with pytest.raises(ConfigError, match="number of a class"):
        train.F1(-1)


# Of the training itself


def test_how_far_a_step_goes() -> None:
    """SGD's step is the rate times the gradient, so three of these numbers tell each other."""
    device = tracked("float64")
    metrics = [train.GradientNorm(), train.UpdateRatio(), train.LearningRate()]
    mine = learner(device, optimizer=optim.SgdConfig().init(), metrics=metrics)
    size = math.sqrt(sum(float((p.val().to_numpy() ** 2).sum()) for _, p in mine.model.named_params()))
    row = mine.fit(batches(device, 32, 1)).rows[0]
    assert row["update ratio"] == pytest.approx(row["learning rate"] * row["gradient norm"] / size)


def test_peak_memory_is_the_plans_and_speed_is_no_column_of_the_table() -> None:
    device = tracked()
    mine = learner(device, metrics=[train.PeakMemory(), train.SamplesPerSecond()])
    data = batches(device, 32, 3)
    history = mine.fit(data, data)
    assert history.rows[0]["peak bytes"] == mine.plan(data[0]).peak_bytes
    assert history.rows[0]["samples a second"] > 0
    assert "samples a second" not in history.table()
    assert "samples a second" in history.table(clocks=True)
    assert "samples a second" not in history.columns(clocks=False)
    assert "valid peak bytes" not in history.columns()
