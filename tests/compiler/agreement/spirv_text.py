"""The text of a random kernel while it is written: numbered values, branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.compiler.agreement.choices import Choices


class Text:
    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.lines: list[str] = []
        self.label = "%start"
        self.count = 0

    def new(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = Op{text}")
        return f"%v{self.count}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label} = OpLabel")
        self.label = label

    def split(self, condition: str, label: str, other: str) -> None:
        self.lines.append(f"OpBranchConditional {condition} {label} {other}")

    def guarded(self, condition: str, inside: Callable[[], str], otherwise: str, type_: str) -> str:
        """The value that is computed where the condition holds, and another one elsewhere."""
        self.count += 1
        here, end, before = f"%inside{self.count}", f"%end{self.count}", self.label
        self.split(condition, here, end)
        self.begin(here)
        value, source = inside(), self.label
        self.lines.append(f"OpBranch {end}")
        self.begin(end)
        return self.new(f"Phi %{type_} {value} {source} {otherwise} {before}")

    def when(self, condition: str, inside: Callable[[], object]) -> None:
        self.count += 1
        here, end = f"%inside{self.count}", f"%end{self.count}"
        self.split(condition, here, end)
        self.begin(here)
        inside()
        self.lines.append(f"OpBranch {end}")
        self.begin(end)

    def loop_of(
        self,
        carried: Sequence[tuple[str, str]],
        goes_on: Callable[[Sequence[str]], str],
        turn: Callable[[Sequence[str]], Sequence[str]],
        rotated: bool = False,
    ) -> list[str]:
        """Types and first values of what the loop carries; `turn` makes the next values. The result is what is left.

        A rotated loop tests its condition at the end of a turn, and once before the loop, as compilers write it.
        """
        self.count += 1
        head, inside, out = (f"%{each}{self.count}" for each in ("head", "inside", "out"))
        phis = [f"%carried{self.count}_{place}" for place in range(len(carried))]
        first = [value for _, value in carried]
        outside = self.label
        if rotated:
            self.split(goes_on(first), head, out)
            outside = self.label
        else:
            self.lines.append(f"OpBranch {head}")
        self.begin(head)
        place = len(self.lines)
        if not rotated:
            self.split(goes_on(phis), inside, out)
            self.begin(inside)
        following = turn(phis)
        again = goes_on(following) if rotated else ""
        latch = self.label
        if rotated:
            self.split(again, head, out)
        else:
            self.lines.append(f"OpBranch {head}")
        self.lines[place:place] = [
            f"{phi} = OpPhi %{type_} {value} {outside} {next_} {latch}"
            for phi, (type_, value), next_ in zip(phis, carried, following, strict=True)
        ]
        self.begin(out)
        if not rotated:
            return phis
        return [
            self.new(f"Phi %{type_} {value} {outside} {next_} {latch}")
            for (type_, value), next_ in zip(carried, following, strict=True)
        ]
