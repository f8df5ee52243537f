"""Small programs, wrong and right, as a student would write them: nothing is annotated that Python does not ask for.

Each wrong one has what mypy and pyright call its error, and what it raises; None is an error that is not seen. Each
right one has the type of its last line.
"""

from __future__ import annotations

from typing import NamedTuple

PREAMBLE = """\
from typing import TypeVar

import numpy as np

from tinyburn import (
    Autodiff, Backend, D1, D2, Device, Distribution, DType, Initializer, Meta, Module, NdArray, Param, RunConfig,
    Tensor, Traced, activation, autodiff, data, grid, linalg, nn, optim, train,
)

plain = NdArray.device()
meta = Meta.device()
tracked = Autodiff[NdArray].device()
vector = Tensor.ones((4,), plain)
matrix = Tensor.ones((16, 4), plain)
cube = Tensor.ones((2, 16, 4), plain)
images = Tensor.ones((2, 3, 8, 8), plain)
on_meta = Tensor.ones((16, 4), meta)
x = Tensor.ones((16, 4), tracked)
w = Tensor.ones((4, 4), tracked).require_grad()
labels = Tensor.arange(0, 4, plain)
truths = vector > 0.0
layer = nn.LinearConfig(4, 2).init(tracked)
mse = nn.MseLoss()
table = nn.EmbeddingConfig(5, 4).init(tracked)
norm = nn.LayerNormConfig(4).init(tracked)
lstm = nn.LstmConfig(4, 8).init(tracked)
gru = nn.GruConfig(4, 8).init(tracked)
attention = nn.MultiHeadAttentionConfig(4, 2).init(tracked)
encoder = nn.TransformerEncoderConfig(4, 8, 2, 1).init(tracked)
sequence = Tensor.ones((2, 3, 4), tracked)
later = nn.generate_autoregressive_mask(2, 3, tracked)
cross_entropy = nn.CrossEntropyLossConfig().init(tracked)
scores = Tensor.ones((4, 3), tracked)
classes = Tensor.arange(0, 4, tracked) % 3
tokens = Tensor.from_data([[0, 3, 1], [2, 2, 4]], tracked, dtype="int64")
items = data.InMemory([1, 2, 3])
loss = (x @ w).mean()
grads = loss.backward(retain_graph=True)

B = TypeVar("B", bound=Backend)
D = TypeVar("D")


def normalized(batch: Tensor[B, D]) -> Tensor[B, D]:
    return (batch - batch.mean_dim(0)) / batch.std_bias(0)


class Model(Module):
    def __init__(self, device: Device[Autodiff[NdArray]]) -> None:
        self.first = nn.LinearConfig(4, 8).init(device)
        self.second = nn.LinearConfig(8, 2).init(device)

    def forward(self, x: Tensor[Autodiff[NdArray], D2], scale: float = 1.0) -> Tensor[Autodiff[NdArray], D2]:
        return self.second(self.first(x).tanh()) * scale


model = Model(tracked)
learner = train.Learner(model, optim.SgdConfig().init(), nn.MseLoss(), lr=0.1)
batches = [(x, x.narrow(1, 0, 2))]
"""
"""What every program can use."""


class Wrong(NamedTuple):
    """A wrong program.

    Attributes:
        code: the program.
        mypy: the code of mypy's error; None if it sees none.
        pyright: the rule that pyright reports.
        raises: the exception when it runs; None if it runs, as where an annotation alone is wrong.
    """

    code: str
    mypy: str | None
    pyright: str | None
    raises: str | None


class Right(NamedTuple):
    """A right program, and the type of its last line; ``D2`` stands for ``Literal[2]``."""

    code: str
    type: str


WRONG = {
    "data: a list in place of a data set": Wrong(
        "data.DataLoader([1, 2], 2, plain)", "call-overload", "reportArgumentType", "ConfigError"
    ),
    "data: no number": Wrong("items['first']", "index", "reportArgumentType", "TypeError"),
    "records: a file in place of a record": Wrong(
        "layer.load_record('x.safetensors')", "arg-type", "reportArgumentType", "RecordError"
    ),
    "records: an unknown layout": Wrong("layer.into_record('jax')", "arg-type", "reportArgumentType", "RecordError"),
    "ranks: add": Wrong("matrix + vector", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: subtract": Wrong("vector - cube", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: multiply": Wrong("matrix * cube", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: divide": Wrong("matrix / vector", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: matmul": Wrong("matrix @ cube", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: matmul of two vectors": Wrong("vector @ vector", "misc", "reportOperatorIssue", "ShapeError"),
    "ranks: transpose of a vector": Wrong("vector.transpose()", "misc", "reportAttributeAccessIssue", "ShapeError"),
    "ranks: mT of a vector": Wrong("vector.mT", "misc", "reportAttributeAccessIssue", "ShapeError"),
    "ranks: compare": Wrong("matrix < vector", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: a method": Wrong("matrix.add(vector)", "arg-type", "reportArgumentType", "ShapeError"),
    "ranks: maximum": Wrong("matrix.maximum(vector)", "arg-type", "reportArgumentType", "ShapeError"),
    "ranks: atan2": Wrong("matrix.atan2(vector)", "arg-type", "reportArgumentType", "ShapeError"),
    "ranks: hypot": Wrong("vector.hypot(matrix)", "arg-type", "reportArgumentType", "ShapeError"),
    "ranks: is_close": Wrong("matrix.is_close(vector)", "arg-type", "reportArgumentType", "ShapeError"),
    "ranks: after sort": Wrong("vector + matrix.sort(0)", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: after median": Wrong("vector + matrix.median(0)", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: after sum": Wrong("matrix + matrix.sum()", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: after unsqueeze": Wrong(
        "matrix + vector.unsqueeze().unsqueeze()", "arg-type", "reportOperatorIssue", "ShapeError"
    ),
    "ranks: after unsqueeze to a rank": Wrong(
        "matrix + vector.unsqueeze(3)", "arg-type", "reportOperatorIssue", "ShapeError"
    ),
    "ranks: after squeeze": Wrong(
        "matrix + Tensor.ones((1, 4), plain).squeeze(0)", "arg-type", "reportOperatorIssue", "ShapeError"
    ),
    "ranks: after reshape": Wrong("vector + vector.reshape((2, 2))", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: after flatten": Wrong("matrix + matrix.flatten()", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: a mask of another rank": Wrong(
        "matrix.mask_fill(truths, 0.0)", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "ranks: nested lists": Wrong(
        "vector + Tensor.from_data([[1.0], [2.0]], plain)", "arg-type", "reportOperatorIssue", "ShapeError"
    ),
    "ranks: nested lists with a dtype": Wrong(
        "vector + Tensor.from_data([[1.0], [2.0]], plain, dtype='float32')",
        "arg-type",
        "reportOperatorIssue",
        "ShapeError",
    ),
    "ranks: full": Wrong("vector + Tensor.full((4, 4), 0.5, plain)", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: zeros with a dtype": Wrong(
        "vector + Tensor.zeros((4, 4), plain, dtype='float32')", "arg-type", "reportOperatorIssue", "ShapeError"
    ),
    "ranks: random": Wrong(
        "vector + Tensor.random((2, 2), Distribution.Default, plain)", "arg-type", "reportOperatorIssue", "ShapeError"
    ),
    "ranks: eye": Wrong("vector + Tensor.eye(4, plain)", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: select by a matrix": Wrong(
        "matrix.select(0, labels.unsqueeze())", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "ranks: after unfold": Wrong("matrix + matrix.unfold(0, 2, 1)", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: an image without its batch": Wrong(
        "nn.Conv2dConfig((2, 8), 3).init(plain)(cube)", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "ranks: a pool of lines for images": Wrong(
        "nn.MaxPool1dConfig(2).init()(images)", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "backends: a convolution on another": Wrong(
        "nn.Conv2dConfig((3, 8), 5).init(tracked)(images)", "arg-type", "reportArgumentType", "BackendMismatch"
    ),
    "ranks: after one_hot": Wrong("labels + labels.one_hot(4)", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: after outer": Wrong(
        "vector + linalg.outer(vector, vector)", "arg-type", "reportOperatorIssue", "ShapeError"
    ),
    "ranks: outer of a matrix and a vector": Wrong(
        "linalg.outer(matrix, vector)", "arg-type", "reportCallIssue", "ShapeError"
    ),
    "ranks: after diag": Wrong("matrix + linalg.diag(matrix)", "arg-type", "reportOperatorIssue", "ShapeError"),
    "ranks: a triangle of a vector": Wrong("vector.tril()", "misc", "reportAttributeAccessIssue", "ShapeError"),
    "ranks: a mask of a batch": Wrong(
        "matrix.mask_fill(Tensor.tril_mask((2, 16, 4), 0, plain), 0.0)", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "ranks: dot of matrices": Wrong("matrix.dot(matrix)", "misc", "reportAttributeAccessIssue", "ShapeError"),
    "training: without an optimizer": Wrong(
        "train.Learner(model, mse, lr=0.1)", "arg-type", "reportArgumentType", "ConfigError"
    ),
    "training: a metric by its name": Wrong(
        "train.Learner(model, optim.SgdConfig().init(), mse, lr=0.1, metrics=['accuracy'])",
        "list-item",
        "reportArgumentType",
        "ConfigError",
    ),
    "training: a tensor is no model": Wrong(
        "train.Learner(x, optim.SgdConfig().init(), mse, lr=0.1)", "type-var", "reportArgumentType", "ConfigError"
    ),
    "training: epochs as a text": Wrong(
        "learner.fit(batches, epochs='3')", "arg-type", "reportArgumentType", "ConfigError"
    ),
    "training: a step that returns a loss": Wrong(
        "train.Learner(model, optim.SgdConfig().init(), step=lambda m, b: mse(m(b[0]), b[1]), lr=0.1).fit(batches)",
        "arg-type",
        "reportArgumentType",
        "ForeignCall",
    ),
    "ranks: too short a permutation": Wrong("cube.permute(1, 0)", "call-arg", "reportCallIssue", "ShapeError"),
    "ranks: too long a permutation": Wrong("matrix.permute(0, 2, 1)", "call-arg", "reportCallIssue", "ShapeError"),
    "ranks: an annotation": Wrong("wrong: Tensor[NdArray, D1] = matrix", "assignment", "reportAssignmentType", None),
    "ranks: a parameter": Wrong(
        "wrong: Param[NdArray, D1] = Param.from_tensor(matrix)", "arg-type", "reportAssignmentType", None
    ),
    "ranks: a direction of another rank": Wrong(
        "autodiff.hvp(lambda v: v.sum(), vector, matrix)", "misc", "reportArgumentType", "ShapeError"
    ),
    "functions: no function": Wrong("autodiff.grad(vector)", "call-overload", "reportArgumentType", "ConfigError"),
    "ranks: an array": Wrong("vector + Tensor.from_data(np.ones((4, 4), np.float32), plain)", None, None, "ShapeError"),
    "ranks: in the brackets": Wrong("Tensor[NdArray, D2].ones((4,), plain)", None, None, "ShapeError"),
    "ranks: in the brackets, then used": Wrong(
        "Tensor[NdArray, D2].ones((4,), plain) + matrix", "arg-type", "reportOperatorIssue", "ShapeError"
    ),
    "ranks: a shape that is computed": Wrong("vector + Tensor.ones(matrix.shape, plain)", None, None, "ShapeError"),
    "ranks: a list as a shape": Wrong("vector + Tensor.ones([4, 4], plain)", None, None, "ShapeError"),
    "ranks: zeros of an Int dtype": Wrong(
        "labels + Tensor.zeros((4, 4), plain, dtype='int64')", None, None, "ShapeError"
    ),
    "ranks: rank 5": Wrong("vector + Tensor.ones((1, 1, 1, 1, 4), plain)", None, None, "ShapeError"),
    "shapes: sizes that differ": Wrong("matrix + Tensor.ones((16, 5), plain)", None, None, "ShapeError"),
    "shapes: inner dims that differ": Wrong("matrix @ matrix", None, None, "ShapeError"),
    "shapes: a dim that does not exist": Wrong("matrix.sum_dim(2)", None, None, "ShapeError"),
    "shapes: a number for a shape": Wrong("Tensor.ones(4, plain)", "call-overload", "reportCallIssue", "ShapeError"),
    "shapes: a float in a shape": Wrong("Tensor.ones((4.0, 4), plain)", "arg-type", "reportCallIssue", "ShapeError"),
    "backends: add": Wrong("matrix + on_meta", "arg-type", "reportOperatorIssue", "BackendMismatch"),
    "backends: plain and tracked": Wrong("matrix + x", "arg-type", "reportOperatorIssue", "BackendMismatch"),
    "backends: tracked and plain": Wrong("w - matrix", "arg-type", "reportOperatorIssue", "BackendMismatch"),
    "backends: matmul": Wrong("on_meta @ matrix", "arg-type", "reportOperatorIssue", "BackendMismatch"),
    "backends: an update across": Wrong("w - w.inner() * 0.1", "arg-type", "reportOperatorIssue", "BackendMismatch"),
    "backends: an annotation": Wrong("wrong: Tensor[Meta, D2] = matrix", "assignment", "reportAssignmentType", None),
    "backends: a device of another": Wrong(
        "wrong: Tensor[Meta, D2] = Tensor.ones((1, 1), plain)", "assignment", "reportAssignmentType", None
    ),
    "backends: an annotated device": Wrong("wrong: Device[Meta] = plain", "assignment", "reportAssignmentType", None),
    "backends: a class for a device": Wrong(
        "Tensor.ones((4,), NdArray)", "call-overload", "reportCallIssue", "BackendMismatch"
    ),
    "backends: a string for a device": Wrong(
        "Tensor.ones((4,), 'cpu')", "call-overload", "reportCallIssue", "BackendMismatch"
    ),
    "backends: no device": Wrong("Tensor.ones((4,))", "call-overload", "reportCallIssue", "ForeignCall"),
    "backends: a gradient of another backend": Wrong(
        "loss.backward(gradient=Tensor.ones((1,), meta))", "arg-type", "reportArgumentType", "BackendMismatch"
    ),
    "backends: in the brackets": Wrong("Tensor[Meta, D2].ones((4, 4), plain)", None, None, "BackendMismatch"),
    "backends: a device by its configuration": Wrong(
        "matrix + Tensor.ones((16, 4), RunConfig().init())", None, None, "BackendMismatch"
    ),
    "backends: from_inner without a device": Wrong("Tensor.from_inner(matrix) + matrix", None, None, "BackendMismatch"),
    "backends: a device around another": Wrong(
        "x + Tensor.ones((16, 4), Autodiff.over(meta))", "arg-type", "reportOperatorIssue", "BackendMismatch"
    ),
    "backends: values of shapes alone": Wrong("on_meta.to_numpy()", None, None, "BackendMismatch"),
    "autodiff: require_grad on a plain backend": Wrong(
        "matrix.require_grad()", "misc", "reportAttributeAccessIssue", "BackendMismatch"
    ),
    "autodiff: require_grad of labels": Wrong(
        "Tensor.arange(0, 4, tracked).require_grad()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"
    ),
    "autodiff: require_grad of a mask": Wrong(
        "(w > 0.0).require_grad()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"
    ),
    "autodiff: backward on a plain backend": Wrong(
        "matrix.sum().backward()", "misc", "reportAttributeAccessIssue", "BackendMismatch"
    ),
    "autodiff: backward of labels": Wrong(
        "Tensor.arange(0, 4, tracked).backward()", "misc", "reportAttributeAccessIssue", "GraphError"
    ),
    "autodiff: inner of a plain backend": Wrong(
        "matrix.inner()", "misc", "reportAttributeAccessIssue", "BackendMismatch"
    ),
    "autodiff: grad of a plain tensor": Wrong(
        "matrix.grad(grads)", "misc", "reportAttributeAccessIssue", "BackendMismatch"
    ),
    "autodiff: a gradient is on the inner backend": Wrong(
        "found = w.grad(grads)\nif found is not None:\n    w + found",
        "arg-type",
        "reportOperatorIssue",
        "BackendMismatch",
    ),
    "autodiff: a gradient may be missing": Wrong(
        "x.grad(grads) * 0.1", "operator", "reportOptionalOperand", "TypeError"
    ),
    "autodiff: a gradient of another rank": Wrong(
        "loss.backward(gradient=matrix)", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "autodiff: no gradients": Wrong("w.grad(loss)", "arg-type", "reportArgumentType", "DTypeMismatch"),
    "autodiff: from_inner on a plain device": Wrong(
        "Tensor.from_inner(matrix, plain)", "type-var", "reportArgumentType", "BackendMismatch"
    ),
    "autodiff: a second backward": Wrong(
        "y = (w * w).sum()\ny.backward()\ny.backward()",
        None,
        None,
        "GraphError",
    ),
    "autodiff: nothing is tracked": Wrong("x.sum().backward()", None, None, "GraphError"),
    "kinds: labels to numbers": Wrong("vector + labels", "arg-type", "reportOperatorIssue", "DTypeMismatch"),
    "kinds: labels are no floats": Wrong(
        "wrong: Tensor[NdArray, D1] = labels", "assignment", "reportAssignmentType", None
    ),
    "kinds: exp of labels": Wrong("labels.exp()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: mean of labels": Wrong("labels.mean()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: labels divided": Wrong("labels / 2", "operator", "reportOperatorIssue", "DTypeMismatch"),
    "kinds: a number divided by labels": Wrong("1 / labels", "operator", "reportOperatorIssue", "DTypeMismatch"),
    "kinds: relu of labels": Wrong("activation.relu(labels)", "arg-type", "reportArgumentType", "DTypeMismatch"),
    "kinds: adding truth values": Wrong("truths + truths", "misc", "reportOperatorIssue", "DTypeMismatch"),
    "kinds: summing truth values": Wrong("truths.sum()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: comparing truth values": Wrong("truths < truths", "misc", "reportOperatorIssue", "DTypeMismatch"),
    "kinds: minus a mask": Wrong("-truths", "misc", "reportOperatorIssue", "DTypeMismatch"),
    "kinds: a mask of numbers": Wrong(
        "vector.mask_fill(vector, 0.0)", "arg-type", "reportArgumentType", "DTypeMismatch"
    ),
    "kinds: indices of numbers": Wrong("vector.gather(0, vector)", "arg-type", "reportArgumentType", "DTypeMismatch"),
    "kinds: not of numbers": Wrong("~vector", "misc", "reportOperatorIssue", "DTypeMismatch"),
    "kinds: tan of labels": Wrong("labels.tan()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: log2 of labels": Wrong("labels.log2()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: cumsum of truths": Wrong("truths.cumsum(0)", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: sort of truths": Wrong("truths.sort(0)", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: quantile of labels": Wrong(
        "labels.quantile(0.5, 0)", "misc", "reportAttributeAccessIssue", "DTypeMismatch"
    ),
    "kinds: indices of a sort as numbers": Wrong(
        "vector + vector.argsort(0)", "arg-type", "reportOperatorIssue", "DTypeMismatch"
    ),
    "kinds: any of numbers": Wrong("vector.any()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: a cast to Int, then exp": Wrong(
        "vector.cast('int64').exp()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"
    ),
    "kinds: a fraction added to labels": Wrong("labels + 0.5", None, None, "DTypeMismatch"),
    "kinds: a parameter of labels": Wrong(
        "Param.from_tensor(labels)", "arg-type", "reportArgumentType", "DTypeMismatch"
    ),
    "operands: a string": Wrong("matrix + '1'", "arg-type", "reportOperatorIssue", "DTypeMismatch"),
    "operands: a list": Wrong("matrix @ [[1.0]]", "arg-type", "reportOperatorIssue", "DTypeMismatch"),
    "operands: None": Wrong("matrix * None", "arg-type", "reportOperatorIssue", "DTypeMismatch"),
    "operands: an array on the right": Wrong(
        "matrix + np.ones((16, 4))", "arg-type", "reportOperatorIssue", "DTypeMismatch"
    ),
    "operands: an array on the left": Wrong(
        "np.ones((16, 4)) * matrix", "operator", "reportOperatorIssue", "DTypeMismatch"
    ),
    "operands: an array whose dtype is not known": Wrong("matrix + np.array([1.0])", None, None, "DTypeMismatch"),
    "operands: an elementwise function of NumPy": Wrong(
        "np.exp(matrix)", "call-overload", "reportCallIssue", "TypeError"
    ),
    "operands: a reduction of NumPy": Wrong("np.sum(matrix)", "call-overload", "reportCallIssue", "ForeignCall"),
    "operands: iteration": Wrong(
        "for row in matrix:\n    print(row)",
        "misc",
        "reportGeneralTypeIssues",
        "DTypeMismatch",
    ),
    "operands: unpacking": Wrong("first, second = vector", "misc", "reportGeneralTypeIssues", "DTypeMismatch"),
    "operands: list()": Wrong("list(vector)", "call-overload", "reportArgumentType", "DTypeMismatch"),
    "operands: ints for a permutation": Wrong("matrix.permute((1, 0))", "call-arg", "reportCallIssue", "ShapeError"),
    "operands: a keyword of another library": Wrong("matrix.mean(dim=0)", "call-arg", "reportCallIssue", "ForeignCall"),
    "operands: a method of another library": Wrong(
        "matrix.astype('float64')", "attr-defined", "reportAttributeAccessIssue", "ForeignName"
    ),
    "dtypes: a misspelt name": Wrong(
        "Tensor.ones((4,), plain, dtype='float23')", "call-overload", "reportCallIssue", "DTypeMismatch"
    ),
    "dtypes: an alias": Wrong("vector.cast('float')", "call-overload", "reportCallIssue", "DTypeMismatch"),
    "dtypes: a NumPy type": Wrong(
        "Tensor.zeros((4,), plain, dtype=np.float64)", "call-overload", "reportCallIssue", "DTypeMismatch"
    ),
    "dtypes: random Int": Wrong(
        "Tensor.random((4,), Distribution.Default, plain, dtype='int64')",
        "call-overload",
        "reportCallIssue",
        "DTypeMismatch",
    ),
    "dtypes: two Float formats": Wrong(
        "vector + Tensor.ones((4,), plain, dtype='float64')", None, None, "DTypeMismatch"
    ),
    "functions: their results": Wrong(
        "normalized(w) + normalized(matrix)", "arg-type", "reportOperatorIssue", "BackendMismatch"
    ),
    "functions: their kinds": Wrong("normalized(labels)", "arg-type", "reportArgumentType", "DTypeMismatch"),
    "modules: an initializer on another backend": Wrong(
        "x + Initializer.Ones.init((16, 4), plain).val()", "arg-type", "reportOperatorIssue", "BackendMismatch"
    ),
    "modules: a layer on another backend": Wrong("layer(matrix)", "arg-type", "reportArgumentType", "BackendMismatch"),
    "modules: a layer of a vector": Wrong(
        "layer(Tensor.ones((4,), tracked))", "type-var", "reportArgumentType", "ShapeError"
    ),
    "modules: a layer of labels": Wrong(
        "layer(Tensor.zeros((1, 4), tracked, dtype='int64'))", "arg-type", "reportArgumentType", "DTypeMismatch"
    ),
    "modules: a layer of an array": Wrong("layer(np.ones((1, 4)))", "arg-type", "reportArgumentType", "DTypeMismatch"),
    "modules: a model on another backend": Wrong("model(matrix)", "arg-type", "reportArgumentType", "BackendMismatch"),
    "modules: a model of another rank": Wrong(
        "model(Tensor.ones((2, 3, 4), tracked))", "arg-type", "reportArgumentType", None
    ),
    "modules: too many arguments": Wrong("model(x, 1.0, 2.0)", "call-arg", "reportCallIssue", "TypeError"),
    "modules: too few arguments": Wrong("model()", "call-arg", "reportCallIssue", "TypeError"),
    "modules: an argument's name": Wrong("model(x, factor=2.0)", "call-arg", "reportCallIssue", "TypeError"),
    "modules: a result of another rank": Wrong("model(x) + x.sum()", "arg-type", "reportOperatorIssue", "ShapeError"),
    "modules: after valid()": Wrong("layer.valid()(x)", "arg-type", "reportArgumentType", "BackendMismatch"),
    "modules: after fork()": Wrong("layer.fork(meta)(x)", "arg-type", "reportArgumentType", "BackendMismatch"),
    "modules: a model as a function of another": Wrong(
        "next(map(model, [matrix]))", "arg-type", "reportArgumentType", "BackendMismatch"
    ),
    "modules: an embedding of numbers": Wrong("table(x)", "arg-type", "reportArgumentType", "DTypeMismatch"),
    "modules: an embedding on another backend": Wrong(
        "table(labels)", "arg-type", "reportArgumentType", "BackendMismatch"
    ),
    "modules: an embedding of a row": Wrong("table(tokens.flatten())", "arg-type", "reportArgumentType", "ShapeError"),
    "modules: an embedding's rank": Wrong("table(tokens) + x", "arg-type", "reportOperatorIssue", "ShapeError"),
    "modules: a normalisation on another backend": Wrong(
        "norm(matrix)", "arg-type", "reportArgumentType", "BackendMismatch"
    ),
    "modules: dropout of labels": Wrong(
        "nn.DropoutConfig(0.1).init()(labels)", "arg-type", "reportArgumentType", "DTypeMismatch"
    ),
    "modules: a recurrent layer of a single sample": Wrong("lstm(x)", "arg-type", "reportArgumentType", "ShapeError"),
    "modules: a recurrent layer on another backend": Wrong(
        "gru(cube)", "arg-type", "reportArgumentType", "BackendMismatch"
    ),
    "modules: an Lstm with one state": Wrong(
        "lstm(sequence, gru(sequence)[1])", "arg-type", "reportArgumentType", "DTypeMismatch"
    ),
    "modules: attention without a mask's dims": Wrong(
        "attention(sequence, sequence, sequence, later)", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "modules: attention with numbers for a mask": Wrong(
        "attention(sequence, sequence, sequence, mask_attn=sequence)",
        "arg-type",
        "reportArgumentType",
        "DTypeMismatch",
    ),
    "modules: an encoder's result": Wrong("encoder(sequence) + x", "arg-type", "reportOperatorIssue", "ShapeError"),
    "modules: a cache left out": Wrong(
        "encoder.forward_autoregressive_inference(sequence, None)", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "modules: labels of another rank": Wrong(
        "cross_entropy(scores, classes.unsqueeze())", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "modules: a loss of a cube": Wrong(
        "cross_entropy(scores.unsqueeze(), classes)", "arg-type", "reportArgumentType", "ShapeError"
    ),
    "modules: labels on another backend": Wrong(
        "cross_entropy(scores, labels)", "arg-type", "reportArgumentType", "BackendMismatch"
    ),
    "modules: a distance of two ranks": Wrong(
        "nn.HuberLossConfig(1.0).init()(x, Tensor.ones((4,), tracked))", "misc", "reportArgumentType", "ShapeError"
    ),
    "modules: labels as a prediction": Wrong(
        "nn.L1Loss()(labels, labels)", "arg-type", "reportArgumentType", "DTypeMismatch"
    ),
    "modules: a batch normalisation after valid()": Wrong(
        "nn.BatchNormConfig(4).init(tracked).valid()(x)", "arg-type", "reportArgumentType", "BackendMismatch"
    ),
    "modules: a function among layers": Wrong(
        "nn.Sequential(layer, activation.relu)", "arg-type", "reportArgumentType", "ConfigError"
    ),
    "modules: a loss of two ranks": Wrong(
        "mse(x, Tensor.ones((4,), tracked))", "misc", "reportArgumentType", "ShapeError"
    ),
    "modules: a loss that does not exist": Wrong(
        "mse(x, x, reduction='max')", "arg-type", "reportArgumentType", "ConfigError"
    ),
    "modules: an activation of labels": Wrong("nn.Relu()(labels)", "arg-type", "reportArgumentType", "DTypeMismatch"),
    "kinds: places of numbers": Wrong("vector.nonzero()", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: any of numbers along a dim": Wrong(
        "vector.any_dim(0)", "misc", "reportAttributeAccessIssue", "DTypeMismatch"
    ),
    "kinds: one_hot of truth values": Wrong("truths.one_hot(2)", "misc", "reportAttributeAccessIssue", "DTypeMismatch"),
    "kinds: the length of labels": Wrong(
        "linalg.l2_norm(labels, 0)", "arg-type", "reportArgumentType", "DTypeMismatch"
    ),
    "backends: einsum": Wrong("Tensor.einsum('ij,kj->ik', matrix, on_meta)", None, None, "BackendMismatch"),
    "modules: a step without gradients": Wrong(
        "optim.SgdConfig().init().step(0.1, model, loss)", "arg-type", "reportArgumentType", "ConfigError"
    ),
    "optim: a rate that is a scheduler": Wrong(
        "optim.AdamConfig().init().step(optim.ConstantLrSchedulerConfig(0.1).init(), model, model(x).sum().backward())",
        "arg-type",
        "reportArgumentType",
        "ConfigError",
    ),
    "optim: an optimizer without its config": Wrong(
        "optim.Adam(model.named_params())", "arg-type", "reportArgumentType", "ForeignCall"
    ),
    "optim: a rate in a config": Wrong("optim.AdamConfig(lr=0.1)", "call-arg", "reportCallIssue", "TypeError"),
    "optim: clipping by a number": Wrong(
        "optim.AdamConfig(grad_clipping=1.0)", "arg-type", "reportArgumentType", "ConfigError"
    ),
    "optim: a group of no optimizer": Wrong(
        "optim.Group('*', nn.MseLoss())", "arg-type", "reportArgumentType", "ConfigError"
    ),
    "modules: a config's field": Wrong("nn.LinearConfig(4, 'two')", "arg-type", "reportArgumentType", "ConfigError"),
}

RIGHT = {
    "ranks: a bias": Right("matrix + vector.unsqueeze()", "Tensor[NdArray, D2, Float]"),
    "ranks: a batch": Right("matrix.unsqueeze() * cube", "Tensor[NdArray, D3, Float]"),
    "ranks: numbers": Right("2 * matrix - 1.5 / matrix**2 % 3", "Tensor[NdArray, D2, Float]"),
    "ranks: reductions": Right("cube.mean() + matrix.sum()", "Tensor[NdArray, D1, Float]"),
    "functions: angles": Right("matrix.atan2(matrix).tan()", "Tensor[NdArray, D2, Float]"),
    "functions: closeness": Right("matrix.is_close(1.0)", "Tensor[NdArray, D2, Bool]"),
    "functions: scans": Right("labels.cumsum(0)", "Tensor[NdArray, D1, Int]"),
    "functions: a sort and its indices": Right("matrix.sort_with_indices(1)[1]", "Tensor[NdArray, D2, Int]"),
    "functions: the largest": Right("cube.topk(2, -1)", "Tensor[NdArray, D3, Float]"),
    "functions: the largest distance": Right("cube.max_abs()", "Tensor[NdArray, D1, Float]"),
    "ranks: kept dims": Right("matrix - matrix.mean_dim(0)", "Tensor[NdArray, D2, Float]"),
    "ranks: reshape": Right("matrix.reshape((4, 4, 4))", "Tensor[NdArray, D3, Float]"),
    "ranks: reshape to 5": Right("matrix.reshape((1, 1, 1, 16, 4))", "Tensor[NdArray, D5, Float]"),
    "ranks: reshape to a computed shape": Right("matrix.reshape(on_meta.shape)", "Tensor[NdArray, Any, Float]"),
    "ranks: flatten": Right("cube.flatten()", "Tensor[NdArray, D1, Float]"),
    "ranks: squeeze": Right("Tensor.ones((1, 4), plain).squeeze(0)", "Tensor[NdArray, D1, Float]"),
    "ranks: unsqueeze to a rank": Right("vector.unsqueeze(3)", "Tensor[NdArray, D3, Float]"),
    "ranks: unsqueeze to a computed rank": Right("vector.unsqueeze(cube.rank)", "Tensor[NdArray, Any, Float]"),
    "ranks: unsqueeze_dim": Right("vector.unsqueeze_dim(1)", "Tensor[NdArray, D2, Float]"),
    "ranks: a matrix product": Right("matrix @ matrix.transpose()", "Tensor[NdArray, D2, Float]"),
    "ranks: mT": Right("cube @ cube.mT", "Tensor[NdArray, D3, Float]"),
    "ranks: permute": Right("cube.permute(2, 0, 1)", "Tensor[NdArray, D3, Float]"),
    "ranks: permute of rank 5": Right(
        "Tensor.ones((1, 1, 1, 2, 3), plain).permute(4, 3, 2, 1, 0)", "Tensor[NdArray, Any, Float]"
    ),
    "ranks: swap_dims": Right("cube.swap_dims(0, 2)", "Tensor[NdArray, D3, Float]"),
    "ranks: slices": Right("matrix[1:3, ::2]", "Tensor[NdArray, D2, Float]"),
    "ranks: an int keeps its dim": Right("matrix[np.int64(1)]", "Tensor[NdArray, D2, Float]"),
    "ranks: repeat, roll and pad": Right(
        "matrix.repeat((2, 1)).roll((1,), (0,)).pad(((1, 1),), 'edge')", "Tensor[NdArray, D2, Float]"
    ),
    "ranks: chunks": Right("matrix.chunk(2, 0)[0]", "Tensor[NdArray, D2, Float]"),
    "ranks: one entry after another": Right("[row for row in matrix.iter_dim(0)][0]", "Tensor[NdArray, D2, Float]"),
    "ranks: one_hot": Right("labels.one_hot(4)", "Tensor[NdArray, D2, Int]"),
    "ranks: a triangle": Right("matrix.tril(-1)", "Tensor[NdArray, D2, Float]"),
    "ranks: a causal mask": Right(
        "cube.mask_fill(Tensor.tril_mask((1, 16, 4), 0, plain), 0.0)", "Tensor[NdArray, D3, Float]"
    ),
    "ranks: outer": Right("linalg.outer(vector, vector)", "Tensor[NdArray, D2, Float]"),
    "ranks: a diagonal": Right("linalg.diag(cube)", "Tensor[NdArray, D2, Float]"),
    "ranks: a matrix by a vector": Right("linalg.matvec(matrix, vector)", "Tensor[NdArray, D1, Float]"),
    "ranks: a length": Right("linalg.l2_norm(matrix, 1)", "Tensor[NdArray, D2, Float]"),
    "ranks: einsum": Right("Tensor.einsum('ij,kj->ik', matrix, matrix)", "Tensor[NdArray, Any, Float]"),
    "ranks: some dims as one": Right("cube.flatten(1)", "Tensor[NdArray, Any, Float]"),
    "ranks: a grid": Right("grid.meshgrid([vector, vector])[0]", "Tensor[NdArray, Any, Float]"),
    "ranks: places": Right("truths.nonzero()[0]", "Tensor[NdArray, D1, Int]"),
    "ranks: expand": Right("vector.unsqueeze().expand((3, -1))", "Tensor[NdArray, D2, Float]"),
    "made: ones": Right("Tensor.ones((4,), plain)", "Tensor[NdArray, D1, Float]"),
    "made: zeros with a dtype": Right("Tensor.zeros((2, 3), plain, dtype='float64')", "Tensor[NdArray, D2, Float]"),
    "made: zeros with a dtype of another tensor": Right(
        "Tensor.zeros((2, 3), plain, vector.dtype)", "Tensor[NdArray, Any, Any]"
    ),
    "made: zeros of an Int dtype": Right("Tensor.zeros((2, 3), plain, dtype='int32')", "Tensor[NdArray, Any, Int]"),
    "made: empty of truth values": Right("Tensor.empty((2, 3), plain, dtype=DType.BOOL)", "Tensor[NdArray, Any, Bool]"),
    "made: full": Right("Tensor.full((1, 2, 3, 4), 0.5, tracked)", "Tensor[Autodiff[NdArray], D4, Float]"),
    "made: full of a NumPy number": Right("Tensor.full((2,), np.float32(0.5), plain)", "Tensor[NdArray, D1, Float]"),
    "made: a shape of NumPy numbers": Right(
        "Tensor.zeros((np.int64(2), np.int64(3)), plain)", "Tensor[NdArray, D2, Float]"
    ),
    "made: a shape as a list": Right("Tensor.zeros([2, 3], plain)", "Tensor[NdArray, Any, Float]"),
    "made: a shape that is computed": Right("Tensor.zeros(matrix.shape, plain)", "Tensor[NdArray, Any, Float]"),
    "made: eye": Right("Tensor.eye(3, tracked)", "Tensor[Autodiff[NdArray], D2, Float]"),
    "made: arange": Right("Tensor.arange(0, 10, meta)", "Tensor[Meta, D1, Int]"),
    "made: random": Right("Tensor.random((2, 2), Distribution.Normal(0, 1), plain)", "Tensor[NdArray, D2, Float]"),
    "made: a like": Right("labels.zeros_like()", "Tensor[NdArray, D1, Int]"),
    "made: in the brackets": Right("Tensor[NdArray, D2].ones((1, 2), plain)", "Tensor[NdArray, D2, Float]"),
    "data: a list": Right("Tensor.from_data([1, 2.5], plain)", "Tensor[NdArray, D1, Float]"),
    "data: rows": Right("Tensor.from_data([[1, 0.5], [2, 3]], tracked)", "Tensor[Autodiff[NdArray], D2, Float]"),
    "data: rows of rows": Right("Tensor.from_data([[[1.0]]], plain)", "Tensor[NdArray, D3, Float]"),
    "data: tuples": Right("Tensor.from_data(((1.0, 2.0), (3.0, 4.0)), plain)", "Tensor[NdArray, D2, Float]"),
    "data: an empty list": Right("Tensor.from_data([], plain)", "Tensor[NdArray, D1, Float]"),
    "data: with a dtype": Right("Tensor.from_data([[1.0, 2.0]], plain, dtype='float64')", "Tensor[NdArray, D2, Float]"),
    "data: labels": Right("Tensor.from_data([3, 1, 2], plain, dtype='int64')", "Tensor[NdArray, D1, Int]"),
    "data: a mask": Right(
        "vector.mask_fill(Tensor.from_data([True, False, True, False], plain), 0.0)", "Tensor[NdArray, D1, Float]"
    ),
    "data: truth values": Right("Tensor.from_data([[True], [False]], plain)", "Tensor[NdArray, D2, Bool]"),
    "data: an array": Right("Tensor.from_data(np.ones((2, 2)), plain)", "Tensor[NdArray, Any, Any]"),
    "data: NumPy's numbers beside a tensor": Right(
        "np.float32(2.0) * matrix + np.int64(1)", "Tensor[NdArray, D2, Float]"
    ),
    "data: to an array": Right("matrix.to_numpy().mean(axis=0).shape", "Any"),
    "data: a function of NumPy": Right("bool((np.asarray(matrix) * 2.0 == 2.0).all())", "bool"),
    "data: one number": Right("float(matrix.mean())", "float"),
    "kinds: comparisons": Right("matrix > 0.0", "Tensor[NdArray, D2, Bool]"),
    "kinds: truth values from labels": Right("labels == 1", "Tensor[NdArray, D1, Bool]"),
    "kinds: labels added": Right("labels + 1", "Tensor[NdArray, D1, Int]"),
    "kinds: labels as floats": Right("labels.float() / 2", "Tensor[NdArray, D1, Float]"),
    "kinds: truth values counted": Right("truths.int().sum()", "Tensor[NdArray, D1, Int]"),
    "kinds: accuracy": Right("(labels == labels).float().mean()", "Tensor[NdArray, D1, Float]"),
    "kinds: cast": Right("matrix.cast('float16')", "Tensor[NdArray, D2, Float]"),
    "kinds: cast to Int": Right("matrix.cast('int32')", "Tensor[NdArray, D2, Int]"),
    "kinds: not": Right("~truths", "Tensor[NdArray, D1, Bool]"),
    "kinds: argmax": Right("matrix.argmax(1)", "Tensor[NdArray, D2, Int]"),
    "kinds: largest and where": Right(
        "matrix.max_dim_with_indices(1)", "tuple[Tensor[NdArray, D2, Float], Tensor[NdArray, D2, Int]]"
    ),
    "kinds: gather": Right("vector.gather(0, labels)", "Tensor[NdArray, D1, Float]"),
    "kinds: any along a dim": Right("truths.any_dim(0)", "Tensor[NdArray, D1, Bool]"),
    "kinds: select": Right("matrix.select(0, labels)", "Tensor[NdArray, D2, Float]"),
    "kinds: mask_where": Right("vector.mask_where(truths, vector * 2.0)", "Tensor[NdArray, D1, Float]"),
    "kinds: activations": Right("activation.softmax(activation.relu(matrix), 1)", "Tensor[NdArray, D2, Float]"),
    "backends: the course's device": Right("Autodiff[NdArray].device()", "DecoratedDevice[Autodiff[NdArray]]"),
    "backends: a traced device": Right(
        "Autodiff[Traced[NdArray]].device()", "DecoratedDevice[Autodiff[Traced[NdArray]]]"
    ),
    "backends: from a configuration": Right("RunConfig().init()", "Device[Any]"),
    "backends: the device inside": Right("matrix + Tensor.ones((16, 4), tracked.inner)", "Tensor[NdArray, D2, Float]"),
    "backends: around another": Right(
        "layer.valid().fork(Autodiff.over(plain))(x)", "Tensor[Autodiff[NdArray, Any], D2, Float]"
    ),
    "backends: to_device": Right("matrix.to_device(meta)", "Tensor[Meta, D2, Float]"),
    "backends: from_inner": Right(
        "Tensor.from_inner(matrix, tracked) * w.mean().unsqueeze()", "Tensor[Autodiff[NdArray], D2, Float]"
    ),
    "autodiff: a leaf": Right("Tensor.ones((2, 2), tracked).require_grad()", "Tensor[Autodiff[NdArray], D2, Float]"),
    "autodiff: backward": Right("loss.backward()", "Gradients[NdArray]"),
    "autodiff: a gradient": Right("w.grad(grads)", "Tensor[NdArray, D2, Float] | None"),
    "autodiff: an update": Right(
        "g = w.grad(grads)\nassert g is not None\nTensor.from_inner(w.inner() - g * 0.1, tracked)",
        "Tensor[Autodiff[NdArray], D2, Float]",
    ),
    "autodiff: a given gradient": Right("loss.backward(gradient=Tensor.ones((1,), plain))", "Gradients[NdArray]"),
    "autodiff: detach": Right("w.detach() * x[0:4]", "Tensor[Autodiff[NdArray], D2, Float]"),
    "modules: a layer": Right("layer", "Linear[Autodiff[NdArray]]"),
    "modules: a layer's result": Right("layer(x)", "Tensor[Autodiff[NdArray], D2, Float]"),
    "modules: a layer of rank 3": Right(
        "layer(Tensor.ones((2, 3, 4), tracked))", "Tensor[Autodiff[NdArray], D3, Float]"
    ),
    "modules: a layer by itself": Right("nn.LinearConfig(4, 2).init(plain)(matrix)", "Tensor[NdArray, D2, Float]"),
    "modules: its weight": Right("layer.weight.val()", "Tensor[Autodiff[NdArray], D2, Float]"),
    "modules: a model's result": Right("model(x, scale=2.0)", "Tensor[Autodiff[NdArray], D2, Float]"),
    "modules: a layer inside a model": Right("model.first(x)", "Tensor[Autodiff[NdArray], D2, Float]"),
    "modules: an activation": Right("nn.Gelu()(matrix)", "Tensor[NdArray, D2, Float]"),
    "modules: a layer as a function": Right("autodiff.checkpoint(layer, x)", "Tensor[Any, Any, Any]"),
    "modules: a model as a function": Right("next(map(model, [x]))", "Tensor[Autodiff[NdArray], D2, Float]"),
    "modules: an embedding": Right("table(tokens)", "Tensor[Autodiff[NdArray], D3, Float]"),
    "modules: valid of an embedding": Right("table.valid().weight.val()", "Tensor[NdArray, D2, Float]"),
    "modules: a normalisation": Right("norm(table(tokens))", "Tensor[Autodiff[NdArray], D3, Float]"),
    "modules: valid of a normalisation": Right("norm.valid()(matrix)", "Tensor[NdArray, D2, Float]"),
    "modules: a recurrent layer": Right("lstm(sequence)[0]", "Tensor[Autodiff[NdArray], D3, Float]"),
    "modules: its state": Right("lstm(sequence)[1].cell", "Tensor[Autodiff[NdArray], D3, Float]"),
    "modules: valid of a recurrent layer": Right("gru.valid()(cube)[1]", "Tensor[NdArray, D3, Float]"),
    "modules: attention": Right(
        "attention(sequence, sequence, sequence, mask_attn=later).weights", "Tensor[Autodiff[NdArray], D4, Float]"
    ),
    "modules: a causal mask": Right("later", "Tensor[Autodiff[NdArray], D3, Bool]"),
    "modules: an encoder": Right("encoder(sequence, mask_attn=later)", "Tensor[Autodiff[NdArray], D3, Float]"),
    "modules: a decoder on plain numbers": Right(
        "nn.TransformerDecoderConfig(4, 8, 2, 1).init(plain)(cube, cube)", "Tensor[NdArray, D3, Float]"
    ),
    "modules: generation": Right(
        "encoder.forward_autoregressive_inference(sequence, encoder.new_autoregressive_cache())[0]",
        "Tensor[Autodiff[NdArray], D3, Float]",
    ),
    "modules: rotary encoding": Right("nn.RotaryEncodingConfig(16, 4).init(plain)(cube)", "Tensor[NdArray, D3, Float]"),
    "modules: dropout": Right("nn.DropoutConfig(0.1).init()(cube)", "Tensor[NdArray, D3, Float]"),
    "modules: a batch normalisation": Right(
        "nn.BatchNormConfig(4).init(tracked).valid()(matrix)", "Tensor[NdArray, D2, Float]"
    ),
    "modules: running statistics": Right(
        "nn.BatchNormConfig(4).init(plain).running_mean", "Tensor[NdArray, D1, Float]"
    ),
    "modules: a group normalisation": Right(
        "nn.GroupNormConfig(2, 4).init(plain)(matrix)", "Tensor[NdArray, D2, Float]"
    ),
    "modules: slopes that are learnt": Right("nn.PReluConfig().init(plain)(cube)", "Tensor[NdArray, D3, Float]"),
    "modules: a gated layer": Right("nn.SwiGluConfig(4, 2).init(plain)(cube)", "Tensor[NdArray, D3, Float]"),
    "modules: flattened": Right("nn.Flatten()(cube)", "Tensor[NdArray, D2, Float]"),
    "modules: layers in a row": Right("nn.Sequential(layer, nn.Relu())(x)", "Tensor[Autodiff[NdArray], Any, Float]"),
    "modules: cross entropy of classes": Right(
        "cross_entropy(scores, classes)", "Tensor[Autodiff[NdArray], D1, Float]"
    ),
    "modules: cross entropy of shares": Right(
        "cross_entropy(scores, activation.softmax(scores, 1))", "Tensor[Autodiff[NdArray], D1, Float]"
    ),
    "modules: cross entropy of each": Right(
        "nn.CrossEntropyLossConfig().init(plain).forward_no_reduction(matrix, Tensor.arange(0, 16, plain) % 4)",
        "Tensor[NdArray, D1, Float]",
    ),
    "modules: a loss of each element": Right(
        "nn.HuberLossConfig(1.0).init().forward_no_reduction(cube, cube)", "Tensor[NdArray, D3, Float]"
    ),
    "modules: a loss": Right("mse(layer(x), Tensor.zeros((16, 2), tracked))", "Tensor[Autodiff[NdArray], D1, Float]"),
    "modules: valid": Right("layer.valid()(matrix)", "Tensor[NdArray, D2, Float]"),
    "modules: fork": Right("layer.fork(plain)(matrix)", "Tensor[NdArray, D2, Float]"),
    "modules: to_device": Right("layer.to_device(meta)(on_meta)", "Tensor[Meta, D2, Float]"),
    "modules: no_grad": Right("layer.no_grad()(x)", "Tensor[Autodiff[NdArray], D2, Float]"),
    "windows: of a dim": Right("matrix.unfold(0, 4, 2)", "Tensor[NdArray, D3, Float]"),
    "windows: of labels, apart": Right("labels.unfold(0, 2, 1, dilation=2)", "Tensor[NdArray, D2, Int]"),
    "modules: a convolution": Right("nn.Conv2dConfig((3, 8), 5).init(tracked)", "Conv2d[Autodiff[NdArray]]"),
    "modules: a convolution's result": Right(
        "nn.Conv2dConfig((3, 8), 5).init(plain)(images)", "Tensor[NdArray, D4, Float]"
    ),
    "modules: a transposed convolution's result": Right(
        "nn.ConvTranspose1dConfig((16, 2), 3).init(plain)(cube)", "Tensor[NdArray, D3, Float]"
    ),
    "modules: a convolution elsewhere": Right(
        "nn.Conv1dConfig(16, 2, 3).init(tracked).valid()(cube)", "Tensor[NdArray, D3, Float]"
    ),
    "modules: a pool": Right("nn.MaxPool2dConfig(2).init()(images)", "Tensor[NdArray, D4, Float]"),
    "modules: a step": Right("optim.SgdConfig().init().step(0.1, model, model(x).sum().backward())", "Model"),
    "optim: a step of Adam": Right(
        "optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.Norm(1.0)).init()"
        ".step(optim.NoamLrSchedulerConfig(0.1).init().step(), model, model(x).sum().backward())",
        "Model",
    ),
    "optim: groups": Right(
        "optim.Groups([optim.Group('first.*', optim.LionConfig()), optim.Group(lambda path, param: True, "
        "optim.SgdConfig(optim.MomentumConfig()))]).step(0.1, model, model(x).sum().backward())",
        "Model",
    ),
    "optim: clipped gradients": Right(
        "optim.clip_by_global_norm(model(x).sum().backward(), 1.0)", "Gradients[NdArray]"
    ),
    "modules: a step of a layer": Right(
        "optim.SgdConfig().init().step(0.1, layer, mse(layer(x), layer(x).detach()).backward())",
        "Linear[Autodiff[NdArray]]",
    ),
    "modules: values of a record": Right("layer.load_record(layer.into_record())", "Linear[Autodiff[NdArray]]"),
    "modules: a parameter inside": Right("Param.from_tensor(w.detach()).inner()", "Param[NdArray, D2]"),
    "training: a learner's model": Right("learner.model", "Model"),
    "training: a history": Right("learner.fit(batches, batches, epochs=2)", "History"),
    "training: the columns of a history": Right("learner.fit(batches).columns()", "dict[str, list[Any]]"),
    "training: a plan": Right("learner.plan(batches[0], 10**6).fits", "bool | None"),
    "training: a step of one's own": Right(
        "train.Learner(model, optim.SgdConfig().init(), step=lambda m, b: train.Step(mse(m(b[0]), b[1])), lr=0.1)",
        "Learner[Model]",
    ),
    "modules: an initializer": Right("Initializer.Zeros.init((2,), tracked)", "Param[Autodiff[NdArray], Any]"),
    "modules: a parameter": Right("Param.from_tensor(vector)", "Param[NdArray, D1]"),
    "derivatives: a product with the second ones": Right(
        "autodiff.hvp(lambda v: (v * v).sum(), vector, vector)", "Tensor[NdArray, D1, Float]"
    ),
    "derivatives: a gradient": Right("autodiff.grad(lambda v: v.sum())(vector)", "Tensor[Any, Any, Any]"),
    "derivatives: a value and a gradient": Right(
        "autodiff.value_and_grad(lambda v: v.sum())(vector)", "tuple[Tensor[Any, Any, Any], Tensor[Any, Any, Any]]"
    ),
    "derivatives: several gradients": Right(
        "autodiff.grad(lambda v, u: (v * u).sum(), (0, 1))(vector, vector)", "tuple[Tensor[Any, Any, Any], ...]"
    ),
    "derivatives: an operation of one's own": Right(
        "autodiff.operation('third', lambda v: v * v * v, lambda g, v: g * v * v * 3)(x)", "Tensor[Any, Any, Any]"
    ),
    "functions: of any backend and rank": Right(
        "normalized(matrix) + normalized(normalized(matrix))", "Tensor[NdArray, D2, Float]"
    ),
    "data: of a list": Right("items", "InMemory[int]"),
    "data: map": Right("items.map(str)", "Dataset[str]"),
    "data: split": Right("items.split(2, 1, seed=0)[0]", "Dataset[int]"),
    "data: loader": Right("data.DataLoader(items, 2, plain)", "DataLoader[Any]"),
    "data: batcher": Right(
        "next(iter(data.DataLoader(items, 2, plain, lambda rows, place: Tensor.ones((2, 3), place))))",
        "Tensor[NdArray, D2, Float]",
    ),
    "functions: of a tracked tensor": Right("normalized(w)", "Tensor[Autodiff[NdArray], D2, Float]"),
}


def not_seen() -> list[Wrong]:
    """The wrong programs that no checker can refuse: they need a value, and not only a type."""
    return [wrong for wrong in WRONG.values() if not (wrong.mypy or wrong.pyright)]
