"""Models of operator sets before the oldest that the table has: the package onnx converts them.

Its converter leaves one thing as it was that means something else from version 7 on: the slopes of a PRelu went along
the channels, and go along the last dim now. They get the dims that say so.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tinyburn.base.errors import OnnxError

from .table import OLDEST


def converted(proto: Any) -> Any:
    """The model in the oldest operator set of the table; itself if it is not older. Raises OnnxError if that fails."""
    version = next((one.version for one in proto.opset_import if one.domain in ("", "ai.onnx")), OLDEST)
    if not 0 < version < OLDEST:
        return proto
    try:
        _set_slopes_right(proto)
        return import_module("onnx.version_converter").convert_version(proto, OLDEST)
    except Exception as error:  # the converter's own, of several classes
        words = " ".join(str(error).split())[:200]
        reason = f"it is of operator set {version}, and the package onnx cannot convert it to {OLDEST}: {words}"
        raise OnnxError("the model", reason, hint="export it again, with a newer operator set") from error


def _set_slopes_right(proto: Any) -> None:
    nodes = [node for node in proto.graph.node if node.op_type == "PRelu"]
    if not nodes:
        return
    known = import_module("onnx.shape_inference").infer_shapes(proto).graph
    ranks = {one.name: len(one.type.tensor_type.shape.dim) for one in [*known.input, *known.value_info, *known.output]}
    slopes = {one.name: one for one in proto.graph.initializer}
    for node in nodes:
        slope, rank = slopes.get(node.input[1]), ranks.get(node.input[0], 0)
        if slope is not None and len(slope.dims) == 1 and rank > 2:
            slope.dims.extend([1] * (rank - 2))
    for one in proto.graph.input:  # in files of that time an initializer is among the inputs, with its shape
        if one.name in slopes:
            del one.type.tensor_type.shape.dim[:]
            for length in slopes[one.name].dims:
                one.type.tensor_type.shape.dim.add().dim_value = length
