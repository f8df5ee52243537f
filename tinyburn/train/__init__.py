"""Training: `Learner` runs the loop, metrics and a history say what happened, and a state says how to go on."""

from .errors import NonFiniteLoss
from .gauges import GradientNorm, LearningRate, PeakMemory, SamplesPerSecond, UpdateRatio
from .history import History
from .learner import Learner
from .metrics import F1, Accuracy, ConfusionMatrix, Loss, Mean, Metric, Perplexity, Precision, Recall, TopK
from .planning import FitPlan
from .seed import seed_everything
from .sinks import CsvSink, Sink, TensorBoardSink
from .step import Outcome, Step, StepFunction
from .stopping import EarlyStoppingConfig

__all__ = [
    "F1",
    "Accuracy",
    "ConfusionMatrix",
    "CsvSink",
    "EarlyStoppingConfig",
    "FitPlan",
    "GradientNorm",
    "History",
    "Learner",
    "LearningRate",
    "Loss",
    "Mean",
    "Metric",
    "NonFiniteLoss",
    "Outcome",
    "PeakMemory",
    "Perplexity",
    "Precision",
    "Recall",
    "SamplesPerSecond",
    "Sink",
    "Step",
    "StepFunction",
    "TensorBoardSink",
    "TopK",
    "UpdateRatio",
    "seed_everything",
]
