"""Processors by name."""

from __future__ import annotations

from itertools import product

import pytest

from anyzero.compiler.errors import CompileError
from anyzero.compiler.targets import cpu
from tests.abi.calls import run_python


def test_given_a_known_name_then_there_is_code_for_it() -> None:
    # In a process of its own: LLVM ends it over a name that it does not know.
    run_python(
        """
        from anyzero.compiler.targets import cpu
        for name in cpu.KNOWN:
            print(name, flush=True)
            code, _ = cpu.compile_text("define i64 @f(i64 %x) { ret i64 %x }", cpu.target(name, ""), 1)
            assert code
        """
    )


@pytest.mark.parametrize("name", ["pentium", "znver9", "x86_64"])
def test_given_another_name_then_it_is_refused(name: str) -> None:
    with pytest.raises(CompileError, match=name):
        cpu.target(name, "")


INLINED = """
define internal i64 @half(i64 %x) alwaysinline { %y = lshr i64 %x, 1 ret i64 %y }
define internal i64 @quarter(i64 %x) alwaysinline {
  %y = call i64 @half(i64 %x)
  %z = call i64 @half(i64 %y)
  ret i64 %z
}
define i64 @f(i64 %x) { %y = call i64 @quarter(i64 %x) ret i64 %y }
"""


@pytest.mark.parametrize(("level", "loops", "regions"), list(product(range(4), (False, True), (False, True))))
def test_given_any_effort_then_everything_becomes_one_function(level: int, loops: bool, regions: bool) -> None:
    code, module = cpu.compile_text(INLINED, cpu.target("", ""), level, loops, regions)
    assert code.startswith(b"\x7fELF")
    assert [function.name for function in module.functions if not function.is_declaration] == ["f"]
    assert "lshr i64 %x, 2" in str(module)
