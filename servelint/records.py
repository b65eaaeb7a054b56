"""Frozen slotted records: what `dataclass(frozen=True, slots=True)` makes, at a twentieth of its cost at import.

A dataclass compiles half a dozen methods from text, about a millisecond a class, and pulls `inspect` in. A hook that
checks one Modelfile defines some thirty record classes; with dataclasses they would cost more than all of its work.
Type checkers see ordinary frozen dataclasses (PEP 681).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, dataclass_transform, overload

_Record = TypeVar("_Record")
_MISSING: Any = object()


class _Field:
    __slots__ = ("factory",)

    def __init__(self, factory: Callable[[], Any]) -> None:
        self.factory = factory


def field(*, default_factory: Callable[[], Any]) -> Any:
    """A field whose default is made anew for every record."""
    return _Field(default_factory)


@overload
def record(cls: type[_Record], /) -> type[_Record]: ...
@overload
def record(*, eq: bool = True, order: bool = False) -> Callable[[type[_Record]], type[_Record]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[_Record] | None = None, /, *, eq: bool = True, order: bool = False) -> Any:
    """Make a class with annotated fields a frozen record, its instances equal by their fields.

    With `order=True` they are ordered by them too; with `eq=False` an instance equals only itself. Records are not
    inherited from, and fields without a default stand before those with one.
    """
    return _make(cls, eq, order) if cls is not None else lambda wrapped: _make(wrapped, eq, order)


def _make(cls: type[Any], eq: bool, order: bool) -> type[Any]:
    # The names alone count here: the annotations are texts, and nothing evaluates them.
    names = tuple(cls.__dict__.get("__annotations__", {}))  # noqa: RUF063 (inspect is what this module avoids)
    namespace = {key: value for key, value in cls.__dict__.items() if key not in ("__dict__", "__weakref__")}
    defaults = {name: namespace.pop(name) for name in names if name in namespace}
    namespace["__slots__"] = names
    namespace["__match_args__"] = names
    namespace["__setattr__"] = namespace["__delattr__"] = _refuse
    namespace["__repr__"] = namespace.get("__repr__", _repr)
    namespace["__reduce__"] = _reduce
    if eq:
        namespace["__eq__"], namespace["__hash__"] = _equal, _hash
    if order:
        namespace["__lt__"] = _less
    made = type(cls.__name__, cls.__bases__, namespace)
    setters = tuple(getattr(made, name).__set__ for name in names)
    made.__init__ = _initialiser(made, names, setters, defaults)  # type: ignore[misc]
    return made


_Setters: TypeAlias = "tuple[Callable[[Any, Any], None], ...]"
# From this many records of a class on, an initialiser of its own pays for its compilation.
_MANY = 300


def _initialiser(
    cls: type[Any], names: tuple[str, ...], setters: _Setters, defaults: dict[str, Any]
) -> Callable[..., None]:
    count, title, calls = len(names), cls.__name__, 0

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807 (it becomes the method of that name)
        nonlocal calls
        calls += 1
        if calls == _MANY:
            cls.__init__ = _compiled_initialiser(names, setters, defaults)
        given = len(values)
        if given > count:
            raise TypeError(f"{title} takes {count} values, not {given}")
        for setter, value in zip(setters, values, strict=False):
            setter(self, value)
        for index in range(given, count):
            name = names[index]
            value = named.pop(name, _MISSING) if named else _MISSING
            if value is _MISSING:
                value = defaults.get(name, _MISSING)
                if value is _MISSING:
                    raise TypeError(f"{title} needs a value for {name}")
                if type(value) is _Field:
                    value = value.factory()
            setters[index](self, value)
        if named:
            raise TypeError(f"{title} has no field {next(iter(named))}, or it was given twice")

    return __init__


def _compiled_initialiser(names: tuple[str, ...], setters: _Setters, defaults: dict[str, Any]) -> Callable[..., None]:
    """The method as a dataclass would have it: four times as fast, and dear to make."""
    space: dict[str, Any] = {"_missing": _MISSING}
    parameters, lines = ["self"], []
    for index, name in enumerate(names):
        space[f"_set{index}"] = setters[index]
        default = defaults.get(name, _MISSING)
        value = name
        if type(default) is _Field:
            space[f"_make{index}"] = default.factory
            parameters.append(f"{name}=_missing")
            value = f"_make{index}() if {name} is _missing else {name}"
        elif default is not _MISSING:
            space[f"_default{index}"] = default
            parameters.append(f"{name}=_default{index}")
        else:
            parameters.append(name)
        lines.append(f"    _set{index}(self, {value})")
    exec("def __init__(" + ", ".join(parameters) + "):\n" + "\n".join(lines or ["    pass"]), space)
    made: Callable[..., None] = space["__init__"]
    return made


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__slots__])


def _refuse(self: Any, name: str, value: Any = None) -> None:  # noqa: ARG001 (the signature of __setattr__)
    raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be changed")


def _repr(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def _reduce(self: Any) -> tuple[type[Any], tuple[Any, ...]]:
    return type(self), _values(self)


def _equal(self: Any, other: Any) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _less(self: Any, other: Any) -> Any:
    return _values(self) < _values(other) if type(other) is type(self) else NotImplemented


def replace(original: _Record, **changes: Any) -> _Record:
    """A copy of a record with some fields changed."""
    names: tuple[str, ...] = original.__slots__  # type: ignore[attr-defined]
    unknown = changes.keys() - set(names)
    if unknown:
        raise TypeError(f"{type(original).__name__} has no field {min(unknown)}")
    return type(original)(*[changes[name] if name in changes else getattr(original, name) for name in names])
