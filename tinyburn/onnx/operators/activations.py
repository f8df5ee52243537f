"""Activation functions, and softmax with its kin."""

from __future__ import annotations

from typing import Any

from tinyburn import activation
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import Value, lifted, reshaped


@operator("Relu", 6, 13, 14)
def relu(x: Value) -> Value:
    """``max(x, 0)``."""
    return lifted(activation.relu if x.is_float else lambda each: each.clamp_min(0), x)


@operator("LeakyRelu", 6, 16)
def leaky_relu(x: Value, *, alpha: float = 0.01) -> Value:
    """``x`` above 0, else ``alpha * x``."""
    return lifted(lambda each: activation.leaky_relu(each, alpha), x)


@operator("PRelu", 7, 9, 16)
def prelu(x: Value, slope: Value) -> Value:
    """``x`` above 0, else ``slope * x``; the slope broadcasts to x."""
    return lifted(lambda each, by: each.clamp_min(0) + each.clamp_max(0) * by, x, slope)


@operator("Sigmoid", 6, 13)
def sigmoid(x: Value) -> Value:
    """From 0 to 1."""
    return lifted(activation.sigmoid, x)


@operator("HardSigmoid", 6, 22)
def hard_sigmoid(x: Value, *, alpha: float = 0.2, beta: float = 0.5) -> Value:
    """``alpha * x + beta`` between 0 and 1."""
    return lifted(lambda each: activation.hard_sigmoid(each, alpha, beta), x)


@operator("HardSwish", 14, 22)
def hard_swish(x: Value) -> Value:
    """``x * hard_sigmoid(x)``."""
    return lifted(activation.hard_swish, x)


@operator("Elu", 6, 22)
def elu(x: Value, *, alpha: float = 1.0) -> Value:
    """``x`` above 0, else ``alpha * (exp(x) - 1)``."""
    return lifted(lambda each: activation.elu(each, alpha), x)


@operator("Celu", 12)
def celu(x: Value, *, alpha: float = 1.0) -> Value:
    """`elu` with a continuous slope."""
    return lifted(lambda each: activation.celu(each, alpha), x)


@operator("Selu", 6, 22)
def selu(x: Value, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Value:
    """``gamma * elu(x, alpha)``."""
    return lifted(lambda each: activation.elu(each, alpha) * gamma, x)


@operator("Gelu", 20)
def gelu(x: Value, *, approximate: str = "none") -> Value:
    """By erf, or with ``approximate="tanh"`` by tanh."""
    return lifted(activation.gelu_approximate if approximate == "tanh" else activation.gelu, x)


@operator("Softplus", 1, 22)
def softplus(x: Value) -> Value:
    """``log(1 + exp(x))``."""
    return lifted(activation.softplus, x)


@operator("Softsign", 1, 22)
def softsign(x: Value) -> Value:
    """``x / (1 + |x|)``."""
    return lifted(activation.softsign, x)


@operator("Mish", 18, 22)
def mish(x: Value) -> Value:
    """``x * tanh(softplus(x))``."""
    return lifted(activation.mish, x)


@operator("Swish", 24)
def swish(x: Value, *, alpha: float = 1.0) -> Value:
    """``x * sigmoid(alpha * x)``."""
    return lifted(lambda each: each * activation.sigmoid(each * alpha), x)


@operator("Shrink", 9)
def shrink(x: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Value:
    """Towards 0 by the bias; 0 where it is nearer to 0 than lambd."""
    return lifted(lambda each: activation.shrink(each, lambd, bias), x)


@operator("ThresholdedRelu", 10, 22)
def thresholded_relu(x: Value, *, alpha: float = 1.0) -> Value:
    """``x`` above alpha, else 0."""
    return lifted(lambda each: activation.thresholded_relu(each, alpha), x)


@operator("Softmax", 13)
def softmax(x: Value, *, axis: int = -1) -> Value:
    """Along a dim."""
    return lifted(lambda each: activation.softmax(each, axis), x)


@operator("LogSoftmax", 13)
def log_softmax(x: Value, *, axis: int = -1) -> Value:
    """Its logarithm."""
    return lifted(lambda each: activation.log_softmax(each, axis), x)


@operator("Softmax", 1, 11)
def softmax_of_matrix(x: Value, *, axis: int = 1) -> Value:
    """Before version 13: over all dims from ``axis`` on together."""
    return _as_matrix(activation.softmax, x, axis)


@operator("LogSoftmax", 1, 11)
def log_softmax_of_matrix(x: Value, *, axis: int = 1) -> Value:
    """Its logarithm."""
    return _as_matrix(activation.log_softmax, x, axis)


def _as_matrix(function: Any, x: Value, axis: int) -> Value:
    at = axis % x.rank
    rows = 1
    for length in x.shape[:at]:
        rows *= length
    matrix = x.tensor.reshape((rows, -1))
    return reshaped(Value(function(matrix, 1)), x.shape)
