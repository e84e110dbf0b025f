"""The table of statements that a random function is made of."""

from __future__ import annotations

from collections.abc import Callable

from tests.compiler.agreement.function import Code

Statement = Callable[[Code], None]

STATEMENTS: list[tuple[int, Statement]] = []
TOGETHER: list[tuple[int, Statement]] = []
"""Those that all work-items of a group have to come to."""


LAST: list[Statement] = []
"""What is done with values that would be forgotten."""


def states(weight: int, together: bool = False) -> Callable[[Statement], Statement]:
    def register(statement: Statement) -> Statement:
        (TOGETHER if together else STATEMENTS).append((weight, statement))
        return statement

    return register


def statements(code: Code, least: int, most: int) -> None:
    """A few of them, one behind the other; what they compute is forgotten afterwards, or left in some variable."""
    here = len(code.values)
    for _ in range(code.draw.number(least, most)):
        if code.budget <= 0:
            break
        together = code.kernel and code.uniform and code.draw.chance(25)
        code.draw.weighted(TOGETHER if together else STATEMENTS)(code)
    if len(code.values) > here and code.draw.number(0, 3):
        for each in LAST:
            each(code)
    del code.values[here:]
