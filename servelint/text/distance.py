"""How far apart two names are, in slips of the hand."""

from __future__ import annotations


def edit_distance(left: str, right: str, limit: int) -> int:
    """How many letters must be added, dropped, changed or swapped with their neighbour; `limit + 1` for more."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    above = list(range(len(right) + 1))
    for row, letter in enumerate(left, start=1):
        current = [row]
        for column, other in enumerate(right, start=1):
            cost = min(above[column] + 1, current[column - 1] + 1, above[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, above = above, current
    return min(above[-1], limit + 1)
