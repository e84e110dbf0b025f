"""Processors by name."""

from __future__ import annotations

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
