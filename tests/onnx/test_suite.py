"""The standard's own tests. What does not run is in `unsupported.txt`, each with its reason, and nothing else is."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinyburn import DTypeMismatch, NdArray, Tensor, TinyburnError, Wgpu
from tinyburn import onnx as ours

from .suite import Case, assert_same, cases, light_models, onnx, tensor_of

LISTED = Path(__file__).with_name("unsupported.txt")
UNSUPPORTED = dict(line.split(": ", 1) for line in LISTED.read_text(encoding="utf-8").splitlines())
RUNNING = [case for case in cases() if case.name not in UNSUPPORTED]
every_case = pytest.mark.parametrize("case", RUNNING, ids=repr)


@every_case
def test_a_case_gives_what_the_standard_asks_for(case: Case) -> None:
    check(case, NdArray.device())


def check(case: Case, device: Any) -> None:
    module = ours.load(case.source, device)
    for given, wanted in case.data:
        found = module(*[tensor_of(each, device) for each in given])
        for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            assert_same(one, other, case.rtol)


@pytest.mark.parametrize("case", [case for case in cases() if case.name in UNSUPPORTED], ids=repr)
def test_what_is_not_supported_says_why(case: Case) -> None:
    assert reason_of(case) == UNSUPPORTED[case.name]


def reason_of(case: Case) -> str:
    """Why a case does not run, in the words of its error; empty if it does."""
    try:
        check(case, NdArray.device())
    except TinyburnError as error:
        return next(line for line in str(error).splitlines() if line.startswith("  because ")).removeprefix(
            "  because "
        )
    except AssertionError:
        return "it gives other numbers, by chance or in the last digits"
    return ""


def test_as_many_run_as_were_promised() -> None:
    """Every model that PyTorch has made, and of the operators of the standard at least 155."""
    assert {case.kind for case in cases() if case.name in UNSUPPORTED} <= {"node", "simple"}
    assert sum(case.kind == "node" for case in RUNNING) >= 1200
    used = {node.op_type for case in RUNNING for node in onnx.load_from_string(bytes_of(case)).graph.node}
    standard = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
    assert len(used & standard) >= 155


def bytes_of(case: Case) -> bytes:
    return case.source if isinstance(case.source, bytes) else Path(case.source).read_bytes()


# On a GPU

HELD = {"float32", "int32", "int64", "bool"}
"""The dtypes of Wgpu, and int64, whose numbers are int32 there."""
INSIDE = {"test_attention_local_window_gqa_rank4_mask", "test_reduce_log_sum_exp_empty_set_expanded"}
INSIDE |= {"test_attention_local_window_gqa_rank4_mask_expanded"}
"""They ask for float64 in the middle."""


def dtypes_of(case: Case) -> set[str]:
    """Of what goes in and comes out."""
    waiting = [each for given, wanted in case.data for each in [*given, *wanted]]
    found = set()
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif each is not None:
            found.add(str(np.asarray(each).dtype))
    return found


@pytest.mark.variants
@pytest.mark.parametrize("case", [case for case in RUNNING if dtypes_of(case) <= HELD], ids=repr)
def test_on_a_gpu_it_gives_the_same(case: Case) -> None:
    if reason := Wgpu.why_unavailable():
        assert "TINYBURN_NEED_WGPU" not in os.environ
        pytest.skip(reason)
    device = Wgpu.device()
    narrow = replace(
        case, data=[(list(map(narrowed, given)), list(map(narrowed, wanted))) for given, wanted in case.data]
    )
    if case.name in INSIDE:
        with pytest.raises(DTypeMismatch, match="no float64"):
            check(narrow, device)
    else:
        check(narrow, device)


def narrowed(given: Any) -> Any:
    """With int32 in place of int64."""
    if isinstance(given, list):
        return [narrowed(each) for each in given]
    array = None if given is None else np.asarray(given)
    return array.astype(np.int32) if array is not None and array.dtype == np.int64 else array


# Networks

SLOW = {"light_vgg19", "light_bvlc_alexnet"}


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.variants] * (path.stem in SLOW)) for path in light_models()],
    ids=lambda path: path.stem,
)
def test_networks_that_the_package_carries(path: Path) -> None:
    if path.stem == "light_squeezenet":
        pytest.skip("equal numbers above 10^8 go into its softmax: the last digit of a sum decides")
    graph = onnx.load(str(path)).graph
    initial = {one.name for one in graph.initializer}
    (port,) = [one for one in graph.input if one.name not in initial]
    shape = tuple(dim.dim_value or 1 for dim in port.type.tensor_type.shape.dim)
    given = (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)
    wanted = onnx.TensorProto()
    wanted.ParseFromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes())
    found = ours.load(path, NdArray.device())(Tensor.from_data(given, NdArray.device()))
    assert_same(found, onnx.numpy_helper.to_array(wanted), 2e-3)


if __name__ == "__main__":
    lines = [f"{case.name}: {reason}" for case in cases() if (reason := reason_of(case))]
    LISTED.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(len(lines), "of", len(cases()))
