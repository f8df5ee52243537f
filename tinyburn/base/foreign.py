"""What NumPy and PyTorch call a thing, and what it is called here: one table for the errors, the docs and the tests.

A name that is not here is an AttributeError, as Python wants it: ``hasattr``, ``copy``, ``pickle`` and the displays of
a notebook ask for names that may be missing. Where the table has the name, the error says what to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from typing import Any, NamedTuple, TypeVar

from .errors import ForeignCall, ForeignName

F = TypeVar("F", bound=Callable[..., Any])

SUBJECTS = ("x", "Tensor", "param", "model", "nn", "optim", "tinyburn")
"""What a row is about, as it is written there: a tensor and its class, a parameter, a module, and our own folders."""


class Habit(NamedTuple):
    """What somebody writes who knows another library, what to write here, and why, where the name does not say it."""

    theirs: str
    ours: str
    because: str = ""

    @property
    def subject(self) -> str:
        """Whose name it is."""
        return re.split(r"\W", self.theirs)[0]

    @property
    def name(self) -> str:
        """The name after the first dot; empty for what is no name, such as ``x[0] = 1``."""
        found = re.match(r"\w+\.(\w+)", self.theirs)
        return found[1] if found else ""


_NO_CHANGE = "values never change; a new tensor has the new ones"
_KEEPS = "sum and the like are over all dims; a dim that is reduced stays, with size 1"
_DEVICE = "a device is an object, and nothing moves by itself"
_BATCH_FIRST = "parameters are made on a device, and the batch is the first dim"
_MADE = "parameters are made on a device"
_RETURNED = "backward() returns the gradients; nothing keeps them"

# fmt: off
HABITS: tuple[Habit, ...] = (
    # a tensor: making one
    Habit("Tensor([1.0, 2.0])",                "Tensor.from_data([1.0, 2.0], device)", _DEVICE),
    Habit("Tensor.from_data([1.0, 2.0])",      "Tensor.from_data([1.0, 2.0], device)", _DEVICE),
    Habit("Tensor.ones((2, 3))",               "Tensor.ones((2, 3), device)", _DEVICE),
    Habit("Tensor.ones((2, 3), device, requires_grad=True)", "Tensor.ones((2, 3), device).require_grad()"),
    Habit("Tensor.zeros((2, 3), device, requires_grad=True)", "Tensor.zeros((2, 3), device).require_grad()"),
    Habit("Tensor.full((2, 3), 0.5, device, requires_grad=True)", "Tensor.full((2, 3), 0.5, device).require_grad()"),
    Habit("Tensor.from_data([1.0], device, requires_grad=True)", "Tensor.from_data([1.0], device).require_grad()"),
    Habit("Tensor.arange(3)",                  "Tensor.arange(0, 3, device)"),
    # a tensor: looking at it
    Habit("x.T",                               "x.transpose()", "the last two dims are exchanged"),
    Habit("x.t()",                             "x.transpose()"),
    Habit("x.size()",                          "x.shape"),
    Habit("x.dim()",                           "x.rank"),
    Habit("x.ndim",                            "x.rank"),
    Habit("x.ndimension()",                    "x.rank"),
    Habit("x.numpy()",                         "x.to_numpy()"),
    Habit("x.tolist()",                        "x.to_numpy().tolist()"),
    Habit("x.clone()",                         "x", "values never change, so a copy cannot be told from x"),
    Habit("x.copy()",                          "x", "values never change, so a copy cannot be told from x"),
    Habit("x.contiguous()",                    "x", "a backend copies by itself where it has to"),
    # a tensor: arithmetic
    Habit("x.sum(0)",                          "x.sum_dim(0)", _KEEPS),
    Habit("x.mean(dim=0)",                     "x.mean_dim(0)", _KEEPS),
    Habit("x.max(axis=0)",                     "x.max_dim(0)", _KEEPS),
    Habit("x.min(0)",                          "x.min_dim(0)", _KEEPS),
    Habit("x.prod(0)",                         "x.prod_dim(0)", _KEEPS),
    Habit("x.sum_dim(0, keepdim=True)",        "x.sum_dim(0)", "the dim stays anyway, with size 1"),
    Habit("x.mean_dim(0, keepdim=True)",       "x.mean_dim(0)", "the dim stays anyway, with size 1"),
    Habit("x.std()",                           "x.flatten().std(0)"),
    Habit("x.var()",                           "x.flatten().var(0)"),
    Habit("x.argmax()",                        "x.flatten().argmax(0)"),
    Habit("x.argmin()",                        "x.flatten().argmin(0)"),
    Habit("x.pow(2)",                          "x ** 2"),
    Habit("x.negative()",                      "-x"),
    Habit("x.reciprocal()",                    "x.recip()"),
    Habit("x.mm(w)",                           "x @ w"),
    Habit("x.bmm(w)",                          "x @ w"),
    Habit("x.dot(w)",                          "x @ w"),
    Habit("x.clip(0, 1)",                      "x.clamp(0, 1)"),
    Habit("x.eq(y)",                           "x == y"),
    Habit("x.ne(y)",                           "x != y"),
    Habit("x.gt(y)",                           "x > y"),
    Habit("x.ge(y)",                           "x >= y"),
    Habit("x.lt(y)",                           "x < y"),
    Habit("x.le(y)",                           "x <= y"),
    Habit("x.isnan()",                         "x.is_nan()"),
    Habit("x.isinf()",                         "x.is_inf()"),
    Habit("x.isfinite()",                      "x.is_finite()"),
    Habit("x.isclose(y)",                      "x.is_close(y)"),
    Habit("x.allclose(y)",                     "x.all_close(y)"),
    Habit("x.rsqrt()",                         "x.sqrt().recip()"),
    Habit("x.arcsin()",                        "x.asin()"),
    Habit("x.arccos()",                        "x.acos()"),
    Habit("x.arctan()",                        "x.atan()"),
    Habit("x.arctan2(y)",                      "x.atan2(y)"),
    Habit("x.arcsinh()",                       "x.asinh()"),
    Habit("x.arccosh()",                       "x.acosh()"),
    Habit("x.arctanh()",                       "x.atanh()"),
    Habit("x.amax(0)",                         "x.max_dim(0)"),
    Habit("x.amin(0)",                         "x.min_dim(0)"),
    Habit("x.cumsum()",                        "x.flatten().cumsum(0)", "a dim is named"),
    Habit("x.cumprod()",                       "x.flatten().cumprod(0)", "a dim is named"),
    Habit("x.sort()",                          "x.sort(-1)", "a dim is named"),
    Habit("x.sort(-1, descending=True)",       "x.sort_descending(-1)"),
    Habit("x.argsort()",                       "x.argsort(-1)", "a dim is named"),
    Habit("x.topk(2)",                         "x.topk(2, -1)", "a dim is named"),
    Habit("x.median()",                        "x.flatten().median(0)"),
    Habit("x.quantile(0.5)",                   "x.flatten().quantile(0.5, 0)"),
    Habit("x.logical_and(mask)",               "(x > 0) & mask"),
    Habit("x.logical_or(mask)",                "(x > 0) | mask"),
    Habit("x.logical_not()",                   "~(x > 0)"),
    Habit("x.relu()",                          "activation.relu(x)"),
    Habit("x.gelu()",                          "activation.gelu(x)"),
    Habit("x.sigmoid()",                       "activation.sigmoid(x)"),
    Habit("x.softmax(1)",                      "activation.softmax(x, 1)"),
    Habit("x.log_softmax(1)",                  "activation.log_softmax(x, 1)"),
    Habit("x.add_(1)",                         "x + 1", _NO_CHANGE),
    Habit("x.sub_(1)",                         "x - 1", _NO_CHANGE),
    Habit("x.mul_(2)",                         "x * 2", _NO_CHANGE),
    Habit("x.div_(2)",                         "x / 2", _NO_CHANGE),
    Habit("x.zero_()",                         "x.zeros_like()", _NO_CHANGE),
    Habit("x.fill_(1)",                        "x.full_like(1)", _NO_CHANGE),
    # a tensor: its shape and its parts
    Habit("x.reshape(3, 2)",                   "x.reshape((3, 2))", "a shape is one tuple"),
    Habit("x.view(3, 2)",                      "x.reshape((3, 2))"),
    Habit("x.ravel()",                         "x.flatten()"),
    Habit("x.expand(2, 3)",                    "x.expand((2, 3))", "a shape is one tuple"),
    Habit("x.permute((1, 0))",                 "x.permute(1, 0)"),
    Habit("x.transpose(0, 1)",                 "x.swap_dims(0, 1)"),
    Habit("x.swapaxes(0, 1)",                  "x.swap_dims(0, 1)"),
    Habit("x.moveaxis(0, 1)",                  "x.movedim(0, 1)"),
    Habit("x.repeat(2, 1)",                    "x.repeat((2, 1))", "the counts are one tuple"),
    Habit("x.tile((2, 1))",                    "x.repeat((2, 1))"),
    Habit("x.unbind(0)",                       "list(x.iter_dim(0))", "the rank stays"),
    Habit("x.diagonal()",                      "linalg.diag(x)"),
    Habit("x.trace()",                         "linalg.trace(x)"),
    Habit("x.squeeze()",                       "x.unsqueeze_dim(0).squeeze(0)", "a dim is named, so the rank is known"),
    Habit("x[None]",                           "x.unsqueeze()", "slicing keeps the rank"),
    Habit("x[mask]",                           "x.mask_fill(mask, 0)", "a shape may not depend on values"),
    Habit("x[0] = y[0]",                       "x.slice_assign(0, y[0])", _NO_CHANGE),
    Habit("x.masked_fill(mask, 0)",            "x.mask_fill(mask, 0)"),
    Habit("x.index_select(0, rows)",           "x.select(0, rows)"),
    Habit("x.take(rows)",                      "x.select(0, rows)"),
    Habit("if x > 0: y",                       "(x > 0).all()", "each element has a truth value of its own"),
    # a tensor: its format and its device
    Habit("x.astype('float64')",               'x.cast("float64")'),
    Habit("x.type('float64')",                 'x.cast("float64")'),
    Habit("x.double()",                        'x.cast("float64")'),
    Habit("x.half()",                          'x.cast("float16")'),
    Habit("x.long()",                          "x.int()"),
    Habit("x.to(device)",                      "x.to_device(device)", _DEVICE),
    Habit("x.cpu()",                           "x.to_device(device)", _DEVICE),
    Habit("x.cuda()",                          "x.to_device(device)", _DEVICE),
    # gradients
    Habit("x.requires_grad",                   "x.is_require_grad"),
    Habit("x.requires_grad_()",                "x.require_grad()"),
    Habit("x.is_leaf",                         "x.is_require_grad"),
    Habit("x.data",                            "x.detach()"),
    Habit("x.grad_fn",                         "viz.graph(loss)"),
    Habit("param.grad",                        "param.val().grad(grads)", _RETURNED),
    Habit("param.data",                        "param.val()"),
    Habit("param.shape",                       "param.val().shape"),
    Habit("param.dtype",                       "param.val().dtype"),
    Habit("param.device",                      "param.val().device"),
    Habit("param.numpy()",                     "param.val().to_numpy()"),
    # models, layers, optimizers
    Habit("model.parameters()",                "model.named_params()"),
    Habit("model.named_parameters()",          "model.named_params()"),
    Habit("model.children()",                  "model.named_children()"),
    Habit("model.eval()",                      "model.valid()", "another model, on the backend inside autodiff"),
    Habit("model.train()",                     "model", "only the model that valid() returns is for evaluation"),
    Habit("model.zero_grad()",                 "loss.backward()", _RETURNED),
    Habit("model.state_dict()",                "model.into_record()", "model.save(path) writes it to a file"),
    Habit("model.load_state_dict(model.into_record())", "model.load_record(model.into_record())"),
    Habit("model.to(device)",                  "model.to_device(device)", _DEVICE),
    Habit("model.cuda()",                      "model.to_device(device)", _DEVICE),
    Habit("model.cpu()",                       "model.to_device(device)", _DEVICE),
    Habit("nn.ReLU()",                         "nn.Relu()"),
    Habit("nn.GELU()",                         "nn.Gelu()"),
    Habit("nn.MSELoss()",                      "nn.MseLoss()"),
    Habit("nn.RNN(3, 2)",                      "nn.RnnConfig(3, 2).init(device)", _BATCH_FIRST),
    Habit("nn.GRU(3, 2)",                      "nn.GruConfig(3, 2).init(device)", _BATCH_FIRST),
    Habit("nn.LSTM(3, 2)",                     "nn.LstmConfig(3, 2).init(device)", _BATCH_FIRST),
    Habit("nn.BiLstm",                         "nn.LstmConfig(3, 2, bidirectional=True).init(device)"),
    Habit("nn.MultiheadAttention(8, 2)",       "nn.MultiHeadAttentionConfig(8, 2).init(device)", _BATCH_FIRST),
    Habit("nn.LayerNorm(3)",                   "nn.LayerNormConfig(3).init(device)"),
    Habit("nn.RMSNorm(3)",                     "nn.RmsNormConfig(3).init(device)"),
    Habit("nn.BatchNorm1d(3)",                 "nn.BatchNormConfig(3).init(device)", "one for every rank"),
    Habit("nn.BatchNorm2d(3)",                 "nn.BatchNormConfig(3).init(device)", "one for every rank"),
    Habit("nn.BatchNorm3d(3)",                 "nn.BatchNormConfig(3).init(device)", "one for every rank"),
    Habit("nn.InstanceNorm1d(3)",              "nn.InstanceNormConfig(3).init(device)", "one for every rank"),
    Habit("nn.InstanceNorm2d(3)",              "nn.InstanceNormConfig(3).init(device)", "one for every rank"),
    Habit("nn.Dropout1d(0.5)",
          "nn.DropoutConfig(0.5).init()", "it drops elements, and no whole channels"),
    Habit("nn.Dropout2d(0.5)",
          "nn.DropoutConfig(0.5).init()", "it drops elements, and no whole channels"),
    Habit("nn.PReLU()",                        "nn.PReluConfig().init(device)", "its slopes are made on a device"),
    Habit("nn.LeakyReLU(0.1)",                 "nn.LeakyReluConfig(0.1).init()"),
    Habit("nn.ELU()",                          "nn.EluConfig().init()"),
    Habit("nn.CELU()",                         "nn.CeluConfig().init()"),
    Habit("nn.SELU()",                         "nn.Selu()"),
    Habit("nn.SiLU()",                         "nn.Silu()"),
    Habit("nn.GLU()",                          "nn.Glu()"),
    Habit("nn.Hardswish()",                    "nn.HardSwish()"),
    Habit("nn.Hardsigmoid()",                  "nn.HardSigmoidConfig(1 / 6).init()"),
    Habit("nn.Hardshrink()",                   "nn.HardShrinkConfig().init()"),
    Habit("nn.Softshrink()",                   "nn.SoftShrinkConfig().init()"),
    Habit("nn.Threshold(1.0, 0.0)",            "nn.ThresholdedReluConfig(1.0).init()"),
    Habit("nn.Softmin(1)",                     "activation.softmin(x, 1)"),
    Habit("nn.ModuleList([model])",            "[model]", "a list that is an attribute is found"),
    Habit("nn.NLLLoss()",
          "nn.CrossEntropyLossConfig().init(device)", "it takes logits, and no logarithms"),
    Habit("nn.BCELoss()",                      "nn.BinaryCrossEntropyLossConfig().init(device)"),
    Habit("nn.BCEWithLogitsLoss()",            "nn.BinaryCrossEntropyLossConfig(logits=True).init(device)"),
    Habit("nn.PoissonNLLLoss()",               "nn.PoissonNllLossConfig().init()"),
    Habit("nn.Linear(3, 2)",                   "nn.LinearConfig(3, 2).init(device)", _MADE),
    Habit("nn.Conv1d(3, 8, 5)",                "nn.Conv1dConfig(3, 8, 5).init(device)", _MADE),
    Habit("nn.Conv2d(3, 8, 5)",                "nn.Conv2dConfig((3, 8), 5).init(device)", _MADE),
    Habit("nn.ConvTranspose2d(3, 8, 5)",       "nn.ConvTranspose2dConfig((3, 8), 5).init(device)", _MADE),
    Habit("nn.MaxPool2d(2)",                   "nn.MaxPool2dConfig(2).init()", "a layer is made by its config"),
    Habit("nn.AvgPool2d(2)",                   "nn.AvgPool2dConfig(2).init()", "a layer is made by its config"),
    Habit("nn.AdaptiveAvgPool2d(1)",           "nn.AdaptiveAvgPool2dConfig(1).init()", "a layer is made by its config"),
    Habit("nn.Parameter(x)",                   "Param.from_tensor(x)"),
    Habit("nn.Module",                         "Module"),
    Habit("nn.functional.relu(x)",             "activation.relu(x)"),
    Habit("optim.SGD(model.parameters(), 0.1)", "optim.SgdConfig().init()", "step(lr, model, grads) takes the rest"),
    Habit("optim.Adagrad(model.parameters())", "optim.AdaGradConfig().init()", "step(lr, model, grads) takes the rest"),
    Habit("optim.RMSprop(model.parameters())", "optim.RmsPropConfig().init()", "step(lr, model, grads) takes the rest"),
    Habit("optim.lr_scheduler.StepLR(sgd, 3)", "optim.StepLrSchedulerConfig(0.1, 3).init()", "step() returns the rate"),
    Habit("nn.utils.clip_grad_norm_(params, 1)", "optim.clip_by_global_norm(grads, 1.0)", "or GradientClippingConfig"),
    Habit("loss.backward(); loss.backward()",  "loss.backward(retain_graph=True)", "the first frees what it has used"),
    Habit("NoForward()(x)",                    "def forward(self, x): ...", "a module is called through it"),
    # memory and pictures
    Habit("viz.memory(job)",                   "viz.memory(memory.measure(job, device, batch_size))"),
    Habit("memory.max_batch_size(job, '64 MiB')", "64 * 2**20", "bytes are a whole number"),
    # the top level
    Habit("tinyburn.array([1.0])",             "Tensor.from_data([1.0], device)"),
    Habit("tinyburn.from_numpy(array)",        "Tensor.from_data(array, device)"),
    Habit("tinyburn.zeros((2, 3))",            "Tensor.zeros((2, 3), device)"),
    Habit("tinyburn.ones((2, 3))",             "Tensor.ones((2, 3), device)"),
    Habit("tinyburn.randn((2, 3))",            "Tensor.random((2, 3), Distribution.Normal(0, 1), device)"),
    Habit("tinyburn.rand((2, 3))",             "Tensor.random((2, 3), Distribution.Uniform(0, 1), device)"),
    Habit("tinyburn.arange(3)",                "Tensor.arange(0, 3, device)"),
    Habit("tinyburn.cat([x, x])",              "Tensor.cat([x, x], 0)"),
    Habit("tinyburn.concatenate([x, x])",      "Tensor.cat([x, x], 0)"),
    Habit("tinyburn.stack([x, x])",            "Tensor.stack([x, x], 0)"),
    Habit("tinyburn.matmul(x, w)",             "x @ w"),
    Habit("tinyburn.einsum('ij,jk->ik', x, w)", "Tensor.einsum('ij,jk->ik', x, w)"),
    Habit("tinyburn.tril(x)",                  "x.tril()"),
    Habit("tinyburn.pad(x, (1, 1))",           "x.pad(((1, 1),))", "a pair for each of the last dims"),
    Habit("tinyburn.exp(x)",                   "x.exp()"),
    Habit("tinyburn.where(mask, x, y)",        "y.mask_where(mask, x)"),
    Habit("tinyburn.relu(x)",                  "activation.relu(x)"),
    Habit("tinyburn.softmax(x, 1)",            "activation.softmax(x, 1)"),
    Habit("tinyburn.no_grad()",                "x.detach()", "model.no_grad() for a model; there is no global switch"),
    Habit("tinyburn.manual_seed(0)",           "device.seed(0)"),
    Habit("tinyburn.float32",                  '"float32"'),
    Habit("tinyburn.float64",                  '"float64"'),
    Habit("tinyburn.int64",                    '"int64"'),
    Habit("tinyburn.cuda",                     "Cuda.why_unavailable()"),
)
# fmt: on

_BY_NAME = {(habit.subject, habit.name): habit for habit in reversed(HABITS) if habit.name}


def missing(subject: str, owner: str, name: str) -> AttributeError:
    """The error for a name that is not there: ours if the table has it, else as Python says it.

    Args:
        subject: one of `SUBJECTS`.
        owner: what has no such name, in Python's words.
        name: the name.
    """
    habit = _BY_NAME.get((subject, name))
    if habit is None:
        return AttributeError(f"{owner} has no attribute {name!r}")
    return ForeignName(habit.theirs, habit.because or "it has another name here", hint=f"write {habit.ours}")


class LeftOut:
    """A name as an attribute that is not there: to read it raises an AttributeError, so `hasattr` says no.

    A ``__getattr__`` could do the same in one place, but Python then reads every attribute that is there half as fast.
    """

    def __init__(self, error: Callable[[type[Any]], AttributeError]) -> None:
        self._error = error

    def __get__(self, _: object, owner: type[Any]) -> Any:
        raise self._error(owner)

    def __repr__(self) -> str:
        return "LeftOut()"


def leave_out(cls: type[Any], subject: str) -> None:
    """Gives a class the table's names of other libraries for a subject, as attributes that are not there.

    Nor does `dir` show them, so an editor offers our names alone.
    """
    ours = set(dir(cls))
    for known, name in _BY_NAME:
        if known == subject and name not in ours:
            setattr(cls, name, LeftOut(lambda _, name=name: missing(subject, "", name)))  # type: ignore[misc]
    shown: Any = cls
    shown.__dir__ = _names


def _names(self: object) -> list[str]:
    return [name for name in object.__dir__(self) if not isinstance(getattr_static(self, name, None), LeftOut)]


def called(names: Any) -> list[str]:
    """The methods of a tensor that exist here and are called in another way elsewhere."""
    return sorted({habit.name for habit in HABITS if habit.subject in ("x", "Tensor") and habit.name in names})


def explained(name: str, method: F) -> F:
    """A method, with an error of ours for a call that does not fit its parameters."""

    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside the method
            reason = str(error).replace(method.__qualname__, name)
        habits = [habit for habit in HABITS if habit.name == name and habit.subject in ("x", "Tensor")]
        hints = dict.fromkeys(habit.ours for habit in habits)
        raise ForeignCall(name, reason, hint=f"write {' or '.join(hints)}")

    made: Any = call
    return made  # type: ignore[no-any-return]
