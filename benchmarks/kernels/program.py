"""A kernel of the benchmarks in three sizes: for a test, a first impression and a comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks.kernels.case import Case

__all__ = ["COMPUTE", "LAUNCH", "MEMORY", "PYTHON", "Program"]

COMPUTE: Final = "computing"
MEMORY: Final = "memory"
LAUNCH: Final = "launching"
PYTHON: Final = "python"


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel in three sizes."""

    key: str
    title: str
    make: Callable[..., Case]
    test: tuple[Any, ...]
    quick: tuple[Any, ...]
    full: tuple[Any, ...]
    restored: tuple[int, ...] = ()
    """Arguments that a run changes in a way that the next run notices."""
    repeats: int = 1
    """Launches to wait for one by one in a sample, when one is too short to be measured."""
    parts: int = 1
    """What is shown is the time divided by this: of many launches, or of many groups, that of one."""
    limit: str = COMPUTE
    """What the time goes into: `COMPUTE`, `MEMORY` or `LAUNCH`, by the best code that there is for it."""
    kernel: str = ""
    """If it is not called as the key says."""
    form: str = ""
    """How the SPIR-V was made, if not as usual: `O0` is `foo.O0.spv`, `python` that of the twin in Python."""

    def case(self, size: str) -> Case:
        chosen: tuple[Any, ...] = getattr(self, size)
        made = replace(self.make(self.kernel or self.key, *chosen), name=self.key)
        if self.form == PYTHON:
            from benchmarks.kernels.in_python import twin

            return twin(made)
        return replace(made, spv=made.spv.with_suffix(f".{self.form}.spv")) if self.form else made

    def made_as(self, form: str) -> Program:
        """The same from SPIR-V that was made otherwise; its key is `KEY.FORM`."""
        title = f"{self.title}, {'in Python' if form == PYTHON else f'-{form}'}"
        return replace(self, key=f"{self.key}.{form}", title=title, kernel=self.kernel or self.key, form=form)
