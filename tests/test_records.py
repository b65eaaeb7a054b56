"""Records behave as frozen slotted dataclasses do."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from servelint.records import field, record, replace


@record(order=True)
class Point:
    """A point."""

    x: int
    y: int = 2
    tags: dict[str, int] = field(default_factory=dict)

    @property
    def double(self) -> int:
        """Twice x."""
        return 2 * self.x


@record(eq=False)
class Thing:
    """Equal to itself alone."""

    name: str


@dataclass(frozen=True, slots=True, order=True)
class Peer:
    """What a record stands in for."""

    x: int
    y: int = 2


@pytest.mark.parametrize("arguments", [(1,), (1, 3), (1, 2)])
def test_as_a_dataclass(arguments: tuple[int, ...]) -> None:
    one, other = Point(*arguments), Peer(*arguments)
    assert (one.x, one.y) == (other.x, other.y)
    assert (one == Point(1)) == (other == Peer(1))
    assert (one < Point(1, 3)) == (other < Peer(1, 3))
    assert one.double == 2 * one.x
    match one:
        case Point(x, y):
            assert (x, y) == arguments + (2,) * (2 - len(arguments))


def test_frozen_and_slotted() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="Point is frozen: x"):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_defaults_are_made_anew() -> None:
    assert Point(1).tags is not Point(1).tags
    assert Point(1, tags={"a": 1}).tags == {"a": 1}


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ((), {}, "needs a value for x"),
        ((1, 2, {}, 4), {}, "takes 3 values, not 4"),
        ((1,), {"z": 1}, "no field z"),
        ((1,), {"x": 1}, "given twice"),
    ],
)
def test_wrong_values(values: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Point(*values, **named)


def test_replace_hash_pickle_and_repr() -> None:
    point = replace(Point(1), y=5)
    assert (point.x, point.y) == (1, 5)
    with pytest.raises(TypeError, match="no field z"):
        replace(point, z=1)
    assert pickle.loads(pickle.dumps(point)) == point
    assert repr(Thing("a")) == "Thing(name='a')"
    assert Thing("a") != Thing("a")
    assert len({Thing("a"), Thing("a")}) == 2
    assert Point(1) != Peer(1)


def test_the_thousandth_record_is_made_as_the_first() -> None:
    @record
    class Many:
        name: str
        count: int = 2
        tags: dict[str, int] = field(default_factory=dict)

    for number in range(1000):
        made = Many(str(number), tags={"n": number}) if number % 2 else Many(name=str(number))
        assert made == Many(str(number), 2, {"n": number} if number % 2 else {})
    one, other = Many("a"), Many("b")
    assert one.tags is not other.tags
    with pytest.raises(TypeError, match="name"):
        Many()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="colour"):
        Many("a", colour="b")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Many("a", 1, {}, 2)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="frozen"):
        one.count = 3  # type: ignore[misc]
    assert replace(one, count=5) == Many("a", 5)
