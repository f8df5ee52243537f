"""Module: parameters and other modules under names, and one walk over them that everything else is made of."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Protocol, TypeAlias, TypeVar

from tinyburn.backend.device import Device
from tinyburn.base import foreign
from tinyburn.base.errors import ConfigError, ForeignName
from tinyburn.base.scope import Scope, current_scope, leave, start
from tinyburn.base.shape import num_elements
from tinyburn.tensor import Tensor

from .config import Config
from .param import Param

if TYPE_CHECKING:
    from tinyburn.record import Layout, ModelRecord

AnyParam: TypeAlias = Param[Any, Any]
AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Visitor: TypeAlias = Callable[[str, AnyParam], None]
Mapper: TypeAlias = Callable[[str, AnyParam], AnyParam]
M = TypeVar("M", bound="Module")
F = TypeVar("F", bound=Callable[..., Any])
F_co = TypeVar("F_co", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")


MYPY = False
"""mypy takes it for True. The two checkers understand two ways to say that ``model(x)`` is ``model.forward(x)``."""


def _no_forward(owner: type[Any]) -> AttributeError:
    reason = f"{owner.__name__} defines no forward, so there is nothing to call"
    return ForeignName("model(x)", reason, hint="write def forward(self, x): ... in the class")


def _path_of(child: Module) -> str:
    """The path of a module that is called here: by the name of the attribute that it is in, as in ``layers.0``, and by
    that of its class if it is in none."""
    caller = current_scope()
    if caller.module is None:
        name = _class_name(child)
    else:
        found = (caller.parts or _name_parts(caller)).get(id(child))
        name = _name_of_new(child, caller.module) if found is None else found[0]
    return f"{caller.path}.{name}" if caller.path else name


def _name_parts(scope: Scope) -> dict[int, tuple[str, Any]]:
    """All parts of a running module with their names at once, since a model of many layers calls each."""
    named = reversed(_parts_of(scope.module))  # of two names the first one counts
    scope.parts = {id(part): (name, part) for name, part in named}
    return scope.parts


def _name_of_new(child: Module, caller: Module) -> str:
    """The name of a part that its caller has made on the way."""
    return next((name for name, part in vars(caller).items() if part is child), _class_name(child))


def _class_name(module: Module) -> str:
    return type(module).__name__.lower()


class _HasForward(Protocol[F_co]):
    @property
    def forward(self) -> F_co: ...


class Module:
    """Assign parameters, modules, and lists, dicts or dataclasses of them in ``__init__``, and define ``forward``.

    Nothing has to be registered: the attributes are the registry. A tensor that is an attribute is a constant of the
    module, as a mask is: training leaves it alone, and it moves where the parameters move. A module is not changed in
    place; `map`, and what is made of it, returns another one.

    One parameter in two places is the same `Param` object in both. A copy, however it is made, is another parameter.
    """

    forward: Callable[..., Any]
    if not TYPE_CHECKING:
        forward = foreign.LeftOut(_no_forward)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__dict__.get("__slots__"):
            reason = f"{cls.__name__} has __slots__, and a module's parts are found among its ordinary attributes"
            raise ConfigError("class of a module", reason, hint="leave __slots__ out, and slots=True of a dataclass")

    if MYPY:  # as a method it would lose the type variables of ``forward``

        @property
        def __call__(self: _HasForward[F]) -> F:  # pyright: ignore[reportRedeclaration]
            """See below."""
            return self.forward

    else:  # as a property, pyright would not take a model for a function

        def __call__(self: _HasForward[Callable[P, R]], *args: P.args, **options: P.kwargs) -> R:
            """``forward``, with this module's name on the path that errors, graphs and event logs show."""
            module: Any = self
            outside = start(Scope(_path_of(module), module))
            try:
                return self.forward(*args, **options)
            finally:
                leave(outside)

    # The one walk

    def named_children(self) -> Iterator[tuple[str, Module | AnyParam]]:
        """Each parameter and module directly in this one, by the name of its attribute; ``layers.0`` in a list."""
        for name, part in _parts_of(self):
            if not isinstance(part, Tensor):
                yield name, part

    def named_params(self) -> Iterator[tuple[str, AnyParam]]:
        """Each parameter by its path, in the order of assignment. One that is shared comes once, at its first path."""
        seen: set[int] = set()
        for path, param in _walk(self):
            if isinstance(param, Param) and id(param) not in seen:
                seen.add(id(param))
                yield path, param

    def named_tensors(self) -> Iterator[tuple[str, AnyTensor]]:
        """Each tensor that is no parameter by its path, in the order of assignment: masks, positions, states."""
        for path, tensor in _walk(self):
            if isinstance(tensor, Tensor):
                yield path, tensor

    def named_values(self) -> Iterator[tuple[str, AnyParam | AnyTensor]]:
        """Each parameter and each other tensor by its path, in the order of assignment, and at each of its places."""
        return iter(_walk(self))

    def map(self: M, mapper: Mapper) -> M:
        """A module like this one, with ``mapper(path, param)`` in place of each parameter; what was shared stays so."""
        paths = {id(part): path for path, part in reversed(_walk(self))}

        def mapped(param: AnyParam) -> AnyParam:
            return _checked(mapper(paths[id(param)], param), paths[id(param)])

        return _Rebuilding(mapped).of(self)

    def with_params(self: M, changed: Mapping[AnyParam, AnyParam]) -> M:
        """A module like this one, with other parameters in the places of some: a `map` without paths."""
        made = {id(param): other for param, other in changed.items()}
        return _Rebuilding(lambda param: param, made=made).of(self)

    def with_tensors(self: M, changed: Mapping[str, AnyTensor]) -> M:
        """A module like this one, with other tensors at some of the paths that `named_tensors` gives."""
        made = {id(tensor): changed[path] for path, tensor in self.named_tensors() if path in changed}
        return _Rebuilding(lambda param: param, made=made).of(self)

    # What is made of it

    def visit(self, visitor: Visitor) -> None:
        """Calls ``visitor(path, param)`` for each parameter."""
        for path, param in self.named_params():
            visitor(path, param)

    def num_params(self, trainable: bool | None = None) -> int:
        """How many numbers the parameters have: all, only what training changes (True), or only what is frozen."""
        sizes = [
            num_elements(param.val().shape)
            for _, param in self.named_params()
            if trainable is None or param.is_frozen is not trainable
        ]
        return sum(sizes)

    def freeze(self: M, *parts: str | Module | AnyParam) -> M:
        """The model with some of its parameters frozen: constants for autodiff, that training leaves as they are.

        Args:
            parts: the path of a parameter or of a module, as in ``freeze("layers.0")``, or the part itself; by default
                everything.

        A frozen parameter is still the same one, so `unfreeze` continues where its training stopped. Raises ConfigError
        for a part that the model does not have.
        """
        chosen = self._chosen("freeze", parts)
        return self.map(lambda _, param: param.freeze() if id(param) in chosen else param)

    def unfreeze(self: M, *parts: str | Module | AnyParam) -> M:
        """The model with some of its parameters, by default all, for training to change again. See `freeze`."""
        chosen = self._chosen("unfreeze", parts)
        return self.map(lambda _, param: param.unfreeze() if id(param) in chosen else param)

    def _chosen(self, asked: str, parts: tuple[str | Module | AnyParam, ...]) -> set[int]:
        """The parameters in some parts of the model, by their `id()`."""
        places = [(path, param) for path, param in _walk(self) if isinstance(param, Param)]
        chosen = set() if parts else {id(param) for _, param in places}
        for part in parts:
            if isinstance(part, str):
                inside = {id(param) for path, param in places if f"{path}.".startswith(f"{part}.")}
            elif isinstance(part, Module | Param):
                wanted = [part] if isinstance(part, Param) else [param for _, param in part.named_params()]
                inside = {id(param) for _, param in places} & set(map(id, wanted))
            else:
                reason = f"{part!r} is neither a path, a module nor a parameter"
                raise ConfigError(asked, reason, hint='write a path, as in "layers.0"')
            if not inside:
                name = part if isinstance(part, str) else type(part).__name__
                reason = f"no parameter of {type(self).__name__} is in {name!r}"
                raise ConfigError(asked, reason, hint=f"its parameters are {', '.join(path for path, _ in places)}")
            chosen |= inside
        return chosen

    # Copies. Each parameter of a copy is another one, and frozen if its original is.

    def to_device(self: M, device: Device[Any]) -> M:
        """The parameters and constants on another device; those already there stay as they are."""

        def is_there(tensor: AnyTensor) -> bool:
            return tensor.device == device

        return _copied(
            self,
            lambda param: param if is_there(param.val()) else param.fork(device),
            lambda tensor: tensor if is_there(tensor) else _moved(tensor, device),
        )

    def fork(self: M, device: Device[Any]) -> M:
        """A copy on a device that trains on its own: each parameter becomes a new leaf there."""
        return _copied(self, lambda param: param.fork(device), lambda tensor: _moved(tensor, device))

    def valid(self: M) -> M:
        """A copy on the backend inside autodiff: what to evaluate and to deploy with."""
        return _copied(self, lambda param: param.inner(), _without_graph)

    def no_grad(self: M) -> M:
        """A copy with all of its parameters frozen. Only this copy: there is no global switch to forget."""
        return _copied(
            self, lambda param: param.fork(param.val().device).freeze(), lambda tensor: copy.deepcopy(tensor.detach())
        )

    # Files

    torch_names: ClassVar[Mapping[str, str]] = {}
    """For values and parts that PyTorch has under other names, those names."""
    torch_transposed: ClassVar[tuple[str, ...]] = ()
    """The matrices that PyTorch keeps the other way round."""
    torch_joined: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """For values that PyTorch keeps as one, one below the other, its name and ours."""

    def torch_name(self, name: str) -> str:
        """PyTorch's name of a value in this module, whose own parts have been renamed already."""
        for ours, theirs in self.torch_names.items():
            if name == ours or name.startswith(f"{ours}."):
                return theirs + name.removeprefix(ours)
        return name

    def into_record(
        self, layout: Layout | None = None, names: Mapping[str, str] | None = None, config: Config | None = None
    ) -> ModelRecord:
        """The values by their paths with what is known about the model: for `save`, and for a training state.

        The arguments are those of `save`.
        """
        from .records import written  # most programs save nothing

        return written(self, layout, names, config)

    def load_record(
        self: M,
        record: ModelRecord,
        layout: Layout | None = None,
        names: Mapping[str, str] | None = None,
        cast: bool = False,
    ) -> M:
        """A module like this one with the values of a record; this one stays as it is. See `load`."""
        from .records import fitted  # as above

        values = fitted(self, record, layout, names, cast)
        return _Rebuilding(
            lambda param: param.replaced(values[id(param)]), lambda tensor: values.get(id(tensor), tensor)
        ).of(self)

    def save(
        self,
        path: str | os.PathLike[str],
        layout: Layout | None = None,
        names: Mapping[str, str] | None = None,
        config: Config | None = None,
    ) -> None:
        """Writes the model as one safetensors file, all at once or not at all. The same model is the same bytes.

        Args:
            path: a file, or an address for fsspec, as in ``"s3://bucket/model.safetensors"``.
            layout: ``"torch"`` for PyTorch's names and its transposed weights.
            names: other names for some modules or values: ``{"encoder": "bert.encoder"}``.
            config: what the model was made from, to be kept in the header.

        Raises RecordError for a name that fits nothing, and OSError if the file cannot be written.
        """
        from tinyburn import record  # as above

        record.save(path, self.into_record(layout, names, config))

    def load(
        self: M,
        path: str | os.PathLike[str],
        layout: Layout | None = None,
        names: Mapping[str, str] | None = None,
        cast: bool = False,
    ) -> M:
        """A module like this one with the values of a file; this one stays as it is.

        The parameters keep their ids, their devices, and whether they are frozen. Of a whole training state it takes
        the model.

        Args:
            path: what `save` wrote, or any other safetensors file.
            layout: ``"torch"`` or ``"tinyburn"``, for a file that tinyburn has not written.
            names: as in `save`.
            cast: convert values of another dtype.

        Raises RecordError, with all that is wrong: a damaged or newer file, names that are missing or unused, other
        shapes, another dtype. Raises OSError if the file cannot be opened.
        """
        from tinyburn import record  # as above

        return self.load_record(record.read_model(path), layout, names, cast)

    def __repr__(self) -> str:
        return "\n".join(_lines(self, type(self).__name__, "", "", {}))


foreign.leave_out(Module, "model")

Part: TypeAlias = "Module | AnyParam | AnyTensor"
_PARTS = (Module, Param, Tensor)
_PLAIN = {type(None), bool, int, float, str}
"""What most other attributes are. They are passed by first: every call of a module walks over those of its caller."""


def _parts_of(module: Module) -> list[tuple[str, Part]]:
    """Each parameter, tensor and module directly in a module, also in its lists, dicts and dataclasses."""
    found: list[tuple[str, Part]] = []
    for name, value in vars(module).items():
        _find_parts(name, value, (), found)
    return found


def _find_parts(name: str, value: Any, outside: tuple[Any, ...], found: list[tuple[str, Part]]) -> None:
    """Appends what is in an attribute; ``outside`` are the containers around it."""
    if type(value) in _PLAIN:
        return
    if isinstance(value, _PARTS):
        found.append((name, value))
    elif isinstance(value, (list, tuple, dict)) or _is_record(value):
        outside = _entered(value, outside, name)
        for key, item in _items_of(value):
            _find_parts(f"{name}.{key}", item, outside, found)
    elif any(isinstance(item, _PARTS) for item in _items_of_others(value)):
        reason = f"a module's parts are not looked for in a {type(value).__name__}, so training would miss them"
        raise ConfigError(f"attribute {name}", reason, hint="use a list, a tuple, a dict or a dataclass")


def _items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    """What a container holds, by index, key or field."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, (list, tuple)):
        return enumerate(value)
    return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]


def _entered(part: Any, outside: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    """What is around the parts of a part. Raises ConfigError if it stands inside itself: a walk would never end."""
    for one in outside:
        if one is part:
            raise _endless(part, path.rstrip("."))
    return (*outside, part)


def _endless(part: Any, path: str) -> ConfigError:
    reason = f"{path} is a {type(part).__name__} that stands inside itself, so its parameters would have no end"
    hint = "give a part what it needs of the whole as an argument of forward, and no attribute"
    return ConfigError("the parts of a module", reason, hint=hint)


def _items_of_others(value: Any) -> Iterable[Any]:
    """What a container holds that gives its parts no lasting names."""
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, set | frozenset | deque) else ()


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _walk(module: Module) -> list[tuple[str, Any]]:
    """Every parameter and tensor with its path, a shared one at each of its places."""
    found: list[tuple[str, Any]] = []
    _collect(module, "", (), found)
    return found


def _collect(module: Module, prefix: str, outside: tuple[Any, ...], found: list[tuple[str, Any]]) -> None:
    """Appends what is in one module; ``outside`` are the modules around it."""
    outside = _entered(module, outside, prefix)
    for name, value in vars(module).items():
        kind = type(value)
        if kind is Param:  # these, and plain values, are told at once; a step walks over all of a model
            found.append((prefix + name, value))
        elif kind not in _PLAIN:
            parts: list[tuple[str, Part]] = []
            _find_parts(name, value, (), parts)
            for inner, part in parts:
                if isinstance(part, Module):
                    _collect(part, f"{prefix}{inner}.", outside, found)
                else:
                    found.append((prefix + inner, part))


class _Rebuilding:
    """A copy of a module with every parameter and tensor replaced; what is one object in two places stays so.

    It is a class and not a function inside a function, which would be a cycle: what it holds goes right after its use.
    """

    def __init__(
        self,
        of_param: Callable[[AnyParam], AnyParam],
        of_tensor: Callable[[AnyTensor], AnyTensor] = lambda tensor: tensor,
        made: dict[int, Any] | None = None,
    ) -> None:
        self._of_param = of_param
        self._of_tensor = of_tensor
        self._made = {} if made is None else made
        """What stands for an object, by its `id()`; some may be known before."""

    def of(self, module: M) -> M:
        """The copy."""
        made: M = self._rebuilt(module)
        return made

    def _rebuilt(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        made: Any = self._made.get(id(value))  # never None: that is plain
        if made is not None:
            return made
        if kind is Param or isinstance(value, Param):
            made = self._of_param(value)
        elif isinstance(value, Module):
            made = self._made[id(value)] = object.__new__(kind)
            parts = vars(made)
            parts.update(vars(value))
            for name, item in vars(value).items():
                if type(item) not in _PLAIN:
                    parts[name] = self._rebuilt(item)
            return made
        elif isinstance(value, Tensor):
            made = self._of_tensor(value)
        elif isinstance(value, tuple):
            items = [self._rebuilt(item) for item in value]
            made = kind(*items) if hasattr(value, "_fields") else kind(items)
        elif isinstance(value, (list, dict)) or _is_record(value):
            made = self._made[id(value)] = copy.copy(value)
            self._fill(made, value)
        else:
            return value
        self._made[id(value)] = made
        return made

    def _fill(self, twin: Any, value: Any) -> None:
        """Puts the rebuilt parts of a container into its copy."""
        if isinstance(value, list):
            twin[:] = [self._rebuilt(item) for item in value]
        elif isinstance(value, dict):
            twin.update({key: self._rebuilt(item) for key, item in value.items()})
        else:
            for field in dataclasses.fields(value):
                rebuilt = self._rebuilt(getattr(value, field.name))
                object.__setattr__(twin, field.name, rebuilt)  # also in a frozen one


def _copied(module: M, of_param: Callable[[AnyParam], AnyParam], of_tensor: Callable[[AnyTensor], AnyTensor]) -> M:
    """A copy with other parameters and tensors. Raises ConfigError if there is a part that a walk would not find."""
    _walk(module)
    return _Rebuilding(of_param, of_tensor).of(module)


def _checked(made: object, path: str) -> AnyParam:
    if isinstance(made, Param):
        return made
    reason = f"the mapper returned {type(made).__name__} for {path}, and not a Param"
    raise ConfigError("map", reason, hint="return the parameter itself to leave it as it is")


def _moved(tensor: AnyTensor, device: Device[Any]) -> AnyTensor:
    """A constant, or a leaf of its own if the tensor is a leaf, on another device."""
    values: AnyTensor = copy.deepcopy(tensor.detach()).to_device(device)
    return values.require_grad() if tensor.is_require_grad and device.backend.is_autodiff else values


def _without_graph(tensor: AnyTensor) -> AnyTensor:
    return tensor.inner() if tensor.backend.is_autodiff else tensor


# How a module prints: Burn's layout, a line for each part, and the count of parameters at the end of every brace


def _lines(module: Module, title: str, indent: str, path: str, shown: dict[int, str]) -> list[str]:
    """``shown`` has the path of every part that is above: a part that comes again is named by it."""
    lines = [f"{indent}{title} {{"]
    inside = indent + "  "
    for name, value in vars(module).items():
        if isinstance(value, bool | int | float | str):
            lines.append(f"{inside}{name}: {value}")
    for name, part in _parts_of(module):
        lines += _part_lines(name, part, inside, path + name, shown)
    return [*lines, f"{inside}params: {_count(module)}", f"{indent}}}"]


def _part_lines(name: str, part: Part, indent: str, path: str, shown: dict[int, str]) -> list[str]:
    title = f"{name}: {type(part).__name__}"
    first = shown.setdefault(id(part), path)
    if isinstance(part, Module):
        return (
            [f"{indent}{title}, shared with {first}"]
            if first != path
            else _lines(part, title, indent, f"{path}.", shown)
        )
    tensor = part.val() if isinstance(part, Param) else part
    notes = [f"shared with {first}"] if first != path else []
    if isinstance(part, Param):
        notes += ["frozen"] if part.is_frozen else []
    elif part.is_require_grad:
        notes.append("tracked, but no Param: training leaves it as it is")
    return [", ".join([f"{indent}{title} {list(tensor.shape)} {tensor.dtype}", *notes])]


def _count(module: Module) -> str:
    frozen = module.num_params(trainable=False)
    counts = f" ({module.num_params(trainable=True)} trainable, {frozen} frozen)" if frozen else ""
    return f"{module.num_params()}{counts}"
