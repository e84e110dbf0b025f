"""Small functions and kernels for the tests: from text to a body, and run."""

from __future__ import annotations

from functools import cache

from anyzero.compiler import translate
from anyzero.compiler.ir import Body
from anyzero.compiler.spirv import Module, read, verify
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.mem2reg import mem2reg
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES, function
from tests.compiler.translate.machine import Machine, Memory


def module(text: str) -> Module:
    found = read(assemble(text))
    verify(found)
    return found


def exported(found: Module, name: str = "main") -> int:
    return found.exports[name]


def body_of(text: str, name: str = "main") -> Body:
    """The body of a function that a module exports."""
    found = module(text)
    body = translate.function(found, exported(found, name))
    check(body)
    return body


@cache
def _twice(text: str) -> tuple[Body, Body]:
    """As it was translated, and with its variables as values."""
    plain, promoted = body_of(text), body_of(text)
    mem2reg(promoted)
    check(promoted)
    return plain, promoted


AT = [(number + 1) << 32 for number in range(8)]
"""Where the regions of memory lie that a test gives to `run`."""


def run(text: str, *parameters: int, regions: tuple[bytes, ...] = ()) -> list[int]:
    """What the function `main` gives; the same whether its variables are memory or values."""
    return ran(text, *parameters, regions=regions)[0]


def ran(text: str, *parameters: int, regions: tuple[bytes, ...] = ()) -> tuple[list[int], list[bytes]]:
    """The result, and what the regions of memory hold in the end."""
    found = []
    for body in _twice(text):
        memory = Memory()
        places = [memory.place(region) for region in regions]
        result = Machine(body, memory=memory, parameters=parameters).run()
        found.append((result, [bytes(memory.regions[place]) for place in places]))
    assert found[0] == found[1]
    return found[0]


def evaluate(line: str, operands: list[tuple[str, int]], result: str, declarations: str = "") -> list[int]:
    """What an instruction gives; `%p0` … are its operands, and its result is `%r`."""
    types = " ".join(type_ for type_, _ in operands)
    text = function(f"{line}\nOpReturnValue %r", parameters=types, result=result, declarations=declarations)
    return run(text, *(value for _, value in operands))


def kernel_module(
    body: str,
    *,
    parameters: str = "",
    declarations: str = "",
    functions: str = "",
    prologue: str = "",
    interface: str = "",
) -> Module:
    """A module with one kernel, `k`."""
    types = parameters.split()
    lines = "\n".join(f"%p{index} = OpFunctionParameter {type_}" for index, type_ in enumerate(types))
    return module(f"""
{PROLOGUE}
    OpEntryPoint Kernel %main "k" {interface}
{prologue}
{TYPES}
{declarations}
{functions}
    %main_type = OpTypeFunction %void {parameters}
    %main = OpFunction %void None %main_type
{lines}
    %entry = OpLabel
{body}
    OpFunctionEnd
""")


def kernel(found: Module, name: str = "k") -> translate.Translation:
    made = translate.kernel(found, name)
    check(made.body)
    return made


def names(body: Body) -> list[str]:
    return [op.name for op in body.ops]
