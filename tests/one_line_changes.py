"""Changes of one line that a careless hand could make, and whether the tests find them.

``python -m tests.one_line_changes`` makes each change in a copy of the project, runs the tests named beside it, without
notebooks, and prints those that survive. It is run by hand: it takes some minutes. A change that survives asks for a
test; a line that is not there any more asks for another change.
"""

# ruff: noqa: E501  # a change is one line

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
AT_ONCE = 2


class Change(NamedTuple):
    """``old`` becomes ``new``, once, in a file of the package; ``tests`` are pytest's arguments."""

    file: str
    old: str
    new: str
    tests: str


RULES = "tests/autodiff/test_rules.py tests/autodiff/test_golden.py"
TABLE = "tests/backend/test_operations.py"
# fmt: off
CHANGES = (
    # tensor
    Change("tensor/elementwise.py", 'checks.check_scalar("clamp", self, max)', 'checks.check_scalar("clamp", self, min)', "tests/tensor/test_operators.py tests/autodiff/test_kinks.py"),
    Change("tensor/elementwise.py", 'backend.sub(self._operand("sub", other), self.primitive)', 'backend.sub(self.primitive, self._operand("sub", other))', "tests/tensor/test_operators.py"),
    Change("tensor/movement.py", "slice(part % size, part % size + 1, 1)", "slice(part, part + 1, 1)", "tests/tensor/test_movement.py"),
    Change("tensor/movement.py", "m if n == -1 else n", "n", "tests/tensor"),
    Change("tensor/movement.py", "slice(last, part.start + 1, -part.step)", "slice(last, part.start, -part.step)", "tests/tensor/test_movement.py"),
    Change("tensor/base.py", "if 0 in self.primitive.shape and any(", "if False and any(", "tests/tensor/test_errors.py"),
    Change("tensor/base.py", "self.device.backend.cast(array, DType(widest))", "array", "tests/backend/test_sums.py"),
    Change("tensor/checks.py", "if limits.min <= value <= limits.max", "if limits.min < value <= limits.max", "tests/tensor"),
    Change("tensor/data.py", "values.flags.writeable = False", "values.flags.writeable = True", "tests/tensor/test_data.py"),
    Change("tensor/gradients.py", "self._leaves.pop(node, None)", "pass", "tests/autodiff/test_backward.py"),
    Change("tensor/base.py", "other.device is self.device and theirs.dtype is mine.dtype", "other.device is self.device", "tests/tensor/test_errors.py"),
    # autodiff
    Change("autodiff/rules.py", "lambda g: g,                                  lambda g: -g)", "lambda g: g,                                  lambda g: g)", RULES),
    Change("autodiff/rules.py", "multiply_no_nan(g, -a.sin())", "multiply_no_nan(g, a.sin())", RULES),
    Change("autodiff/rules.py", "return multiply_no_nan(g, power * exponent)", "return multiply_no_nan(g, power)", RULES),
    Change("autodiff/rules.py", "(mine == other).cast(g.dtype) * 0.5", "(mine == other).cast(g.dtype)", "tests/autodiff/test_kinks.py"),
    Change("autodiff/rules.py", "float(a.shape[dim] - correction)", "float(a.shape[dim])", RULES),
    Change("autodiff/rules.py", "(1.0 / reduced_count(a.shape, dims)) / share", "1.0 / share", RULES),
    Change("autodiff/rules.py", "a.mask_where(g == 0, finite)", "a.mask_fill(g == 0, 0)", "tests/autodiff/test_orders.py"),
    Change("autodiff/rules.py", "((out - a) / b).round()", "-(a / b).floor()", "tests/backend/test_sums.py"),
    Change("autodiff/rules.py", "(lambda g, a: multiply_no_nan(g, a.cos()),)", "(lambda g, a: g * a.cos(),)", "tests/autodiff/test_dead_branches.py"),
    Change("autodiff/backward.py", "(part, is_new) if held is None else self._sum(*held, part, is_new)", "(part, is_new)", "tests/autodiff/test_backward.py tests/autodiff/test_chain.py"),
    Change("autodiff/backward.py", "if node in retained:", "if False:", "tests/autodiff/test_backward.py"),
    Change("autodiff/backward.py", "_used_up(node, is_root=node is root)", "_used_up(node, is_root=True)", "tests/autodiff/test_backward.py"),
    Change("autodiff/backward.py", "is_new = is_exclusive = False", "pass", "tests/autodiff/test_in_place.py"),
    Change("autodiff/checkpointing.py", "self.device.set_random_state(state)", "self.device.set_random_state(self.random_state)", "tests/autodiff/test_checkpointing.py"),
    Change("autodiff/recording.py", "values = [x.recipe or x.primitive if", "values = [x.primitive if", "tests/autodiff/test_checkpointing.py tests/autodiff/test_saving.py"),
    Change("autodiff/observer.py", "if not self._is_part:", "if True:", "tests/autodiff/test_checkpointing.py tests/memory/test_categories.py tests/memory/test_measure.py"),
    # backend
    Change("backend/folds.py", "    if rest:", "    if False:", "tests/backend/test_sums.py"),
    Change("backend/folds.py", "BLOCK = 32", "BLOCK = 32_000", "tests/backend/test_sums.py"),
    Change("backend/indexing.py", "np.add.at(flat, _places(a.shape, dim, indices, piece).reshape(-1), b[piece].reshape(-1))", "flat[_places(a.shape, dim, indices, piece).reshape(-1)] += b[piece].reshape(-1)", f"{TABLE} -k scatter"),
    Change("backend/ndarray.py", 'return np.array(values, order="C")', 'return np.asarray(values, order="C")', "tests/backend/test_allocation.py"),
    Change("backend/ndarray.py", '_zero_where(np.multiply(a, b, order="C"), a)', 'np.multiply(a, b, order="C")', "tests/autodiff/test_dead_branches.py"),
    Change("backend/strided.py", "a.view(a.shape, strides, a.offset + last)", "a.view(a.shape, strides, a.offset)", f"{TABLE} -k flip"),
    Change("backend/strided.py", "tuple(0 if size != old else stride for size, old, stride in dims)", "tuple(stride for size, old, stride in dims)", f"{TABLE} -k expand"),
    Change("backend/interface.py", "size / (size - correction) if size", "size / size if size", f"{TABLE} -k var"),
    Change("backend/interface.py", '"the error function", cheap=False', '"the error function"', "tests/autodiff/test_checkpointing.py tests/memory/test_whatif.py tests/docs"),
    Change("backend/log.py", "self.log.live_bytes -= self.size", "self.log.live_bytes -= 0", "tests/backend/test_traced.py"),
    Change("backend/log.py", "if self.saves == 0 and self.category", "if self.category", "tests/backend/test_traced.py tests/memory/test_categories.py"),
    Change("backend/device.py", "self.backend is other.backend and self.identity == other.identity", "self.backend is other.backend", "tests/tensor tests/backend/test_traced.py"),
    Change("backend/gpus.py", "    gc.collect()", "    pass", "tests/backend/test_gpus.py"),
    Change("backend/wgpu/reductions.py", "j += params.width", "j += 1u", "tests/backend/wgpu/test_reductions.py tests/backend/test_sums.py"),
    Change("backend/wgpu/functions.wgsl", "select(-2147483648, 2147483647, x > 0.0)", "select(-2147483648, 2147483647, x < 0.0)", "tests/tensor/test_way_in.py tests/backend/wgpu/test_functions.py"),
    Change("backend/wgpu/functions.wgsl", "if (is_zero(a)) { return 0.0; }\n    return multiply_no_nan(sign_of(out), a);", "return multiply_no_nan(sign_of(out), a);", "tests/autodiff/test_dead_branches.py"),
    Change("backend/wgpu/kernel.py", "stride & 0xFFFFFFFF", "abs(stride)", f"{TABLE} -k Wgpu"),
    Change("backend/wgpu/indexing.py", "indices.strides[0] if axis == dim else 0", "1 if axis == dim else 0", f"{TABLE} -k Wgpu"),
    # modules, optimizers, losses
    Change("optim/sgd.py", 'p.value, direction, -lr)', 'p.value, direction, lr)', "tests/module/test_training.py"),
    Change("optim/sgd.py", "share = 1 - momentum.dampening", "share = 1", "tests/optim/test_golden.py"),
    Change("optim/checks.py", "bool(0 <= lr < math.inf)", "bool(0 <= lr)", "tests/module"),
    Change("optim/adam.py", "1 - config.beta_1**steps", "1 - config.beta_1", "tests/optim/test_golden.py"),
    Change("optim/update.py", "        self.own.clear()\n", "", "tests/optim/test_state.py"),
    Change("optim/update.py", "        self.is_spare = False\n        kept", "        kept", "tests/optim/test_state.py"),
    Change("optim/clipping.py", "frozenset(leaves))", "frozenset())", "tests/optim/test_clipping.py"),
    Change("optim/groups.py", "lr * self.config[number].lr_factor", "lr", "tests/optim/test_groups.py"),
    Change("module/param.py", "primitive.is_tracked and primitive.node.is_parameter", "False", "tests/module"),
    Change("module/param.py", "values.to_device(device), ParamId(), self.is_frozen", "values.to_device(device), ParamId(), False", "tests/module"),
    Change("module/param.py", "tensor.inner(), ParamId(), self.is_frozen", "tensor.inner(), self.id, self.is_frozen", "tests/module"),
    Change("module/initializer.py", "math.sqrt(3) * _kaiming_std", "math.sqrt(6) * _kaiming_std", "tests/module/test_initializer.py"),
    Change("nn/loss/checks.py", 'if reduction == "sum" else', 'if reduction != "sum" else', "tests/nn"),
    Change("nn/batch_norm.py", "if not is_running_again()", "if True", "tests/nn/test_batch_norm.py"),
    Change("nn/batch_norm.py", "copy.deepcopy(batch.detach())", "batch", "tests/nn/test_batch_norm.py"),
    Change("nn/batch_norm.py", "copy.deepcopy(batch.detach())", "batch.detach()", "tests/nn/test_batch_norm.py"),
    Change("nn/batch_norm.py", "    with _updating:", "    if True:", "tests/nn/test_batch_norm.py"),
    Change("nn/dropout.py", "1 / (1 - self.prob) if", "1.0 if", "tests/nn/test_dropout.py"),
    Change("nn/normalize.py", "(variance + epsilon).sqrt", "variance.sqrt", "tests/nn"),
    Change("nn/loss/cross_entropy.py", "counts.mask_fill(mask, 0.0)", "counts", "tests/nn/test_losses.py"),
    Change("nn/loss/distances.py", "kept * 0.5", "kept", "tests/nn/test_losses.py"),
    Change("nn/loss/likelihoods.py", "target.log() - prediction", "target - prediction", "tests/nn/test_losses.py"),
    # memory
    Change("memory/batch.py", "while over - fits > 1:", "while over - fits > 2:", "tests/memory/test_batch.py"),
    Change("memory/allocators.py", "if self._is_free(chunk.after):", "if False:", "tests/memory/test_cupys_pool.py"),
    Change("memory/measure.py", "if live > self._peak or (live", "if live >= self._peak or (live", "tests/memory/test_measure.py"),
    Change("memory/history.py", "before.end = index", "pass", "tests/memory/test_donate.py"),
    Change("memory/holders.py", "for at in reversed(range(len(saves)))", "for at in range(len(saves))", "tests/memory/test_holders.py"),
    # pictures and the command line
    Change("viz/graph.py", "is_dashed=not gets_gradient(model, drawn.boxes[start])", "is_dashed=False", "tests/viz/test_graph.py"),
    Change("viz/svg.py", "return _FILLS[letter]", 'return _FILLS["P"]', "tests/viz"),
    Change("viz/saved.py", "if wanted != kept", "if wanted == kept", "tests/viz"),
    Change("cli/normalise.py", "seen[digest] += 1", "seen[digest] += 2", "tests/cli/test_notebooks.py"),
)
# fmt: on


def survives(change: Change) -> bool | None:
    """Whether the tests pass in spite of a change; None if its line is not there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "project")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "*cache*", "notebooks"))
        file = copy / "tinyburn" / change.file
        text = file.read_text(encoding="utf-8")
        if change.old not in text:
            return None
        file.write_text(text.replace(change.old, change.new, 1), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            *change.tests.split(),
        ]
        paths = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=copy, env=paths, capture_output=True, check=False).returncode == 0


def main() -> None:
    """Prints what survives, and how many were found."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(survives, CHANGES))
    for change, survived in zip(CHANGES, results, strict=True):
        if survived is not False:
            print(
                f"{'no such line' if survived is None else 'survives'}: {change.file}: {change.old!r} -> {change.new!r}"
            )
    print(f"{results.count(False)} of {len(CHANGES)} found")


if __name__ == "__main__":
    main()
