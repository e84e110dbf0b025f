"""The engine's side of the planner's calls, and a compiler that only pretends to be one."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from anyzero import compiler, ze
from anyzero.compiler import spirv
from anyzero.compiler.compiled import Argument, ArgumentKind, CompiledKernel, Options
from anyzero.driver.modules import plans, requests
from anyzero.driver.settings import settings
from anyzero.layouts.module_requests import (
    BuildReply,
    BuildRequest,
    BytesReply,
    ImproveRequest,
    InspectRequest,
    LinkRequest,
    ModuleInput,
    PlanRequest,
    SpecConstant,
)
from anyzero.layouts.planner import CompileReply, CompileRequest, ReplyHead, RequestHead
from anyzero.wire import Reader, Writer
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES
from tests.patience import PATIENCE

SUCCESS = ze.ZE_RESULT_SUCCESS


class Message(Protocol):
    def write(self, to: Writer) -> Writer: ...


class Reply:
    """A reply as the engine reads it."""

    def __init__(self, data: bytes) -> None:
        self.reader = Reader(data)
        self.status, self.origin, self.log = ReplyHead.read(self.reader)

    def end(self) -> None:
        self.reader.end()


@dataclass
class Built:
    status: int
    log: str
    plan: int = 0
    kernels: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    globals: dict[str, tuple[int, int]] = field(default_factory=dict)
    size: int = 0
    alignment: int = 0
    image: bytes = b""
    relocations: list[tuple[int, int]] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    flags: int = 0
    shareable: bool = False


Given = tuple[bytes, str, dict[int, bytes]]


def question(*inputs: bytes | Given, form: int = ze.ZE_MODULE_FORMAT_IL_SPIRV, pages: bool = True) -> BuildRequest:
    """What the engine asks to have a module built."""
    given = []
    for each in inputs:
        data, flags, constants = each if isinstance(each, tuple) else (each, "", {})
        given.append(ModuleInput(data, flags, [SpecConstant(*each) for each in constants.items()]))
    return BuildRequest(form, pages, given)


def build(
    *inputs: bytes | Given,
    form: int = ze.ZE_MODULE_FORMAT_IL_SPIRV,
    released: Sequence[int] = (),
    pages: bool = True,
) -> Built:
    reply = Reply(requests.build(asked(question(*inputs, form=form, pages=pages), released)))
    built = Built(reply.status, reply.log)
    if built.status == SUCCESS:
        made = BuildReply.read(reply.reader)
        built.plan, built.kernels, built.functions = made.plan, list(made.kernels), list(made.functions)
        built.globals = {each.name: (each.offset, each.size) for each in made.variables}
        built.size, built.alignment, built.image = made.block_size, made.block_alignment, made.block
        built.relocations = [(each.offset, each.target) for each in made.relocations]
        built.imports, built.flags, built.shareable = list(made.imports), made.property_flags, bool(made.shareable)
    reply.end()
    return built


def exports(plan: int) -> list[str]:
    """Names that the planner offers other modules; the engine has no use for them."""
    return list(plans.find(plan).exports)


def create(plan: int, name: str, kind: int = 0, released: Sequence[int] = ()) -> tuple[int, str, bytes]:
    """Status, log and container of a kernel in its final form."""
    return _compiled(plan, name, kind, 0, released)[:3]


def create_soon(plan: int, name: str) -> tuple[bytes, bool]:
    """The container of a kernel that may be provisional, and whether the engine is to ask for better code."""
    status, log, found, provisional = _compiled(plan, name, 0, 1)
    assert status == SUCCESS, log
    return found, provisional


def _compiled(plan: int, name: str, kind: int, soon: int, released: Sequence[int] = ()) -> tuple[int, str, bytes, bool]:
    reply = Reply(requests.compile(asked(CompileRequest(plan, name, kind, soon), released)))
    made = CompileReply.read(reply.reader) if reply.status == SUCCESS else CompileReply(b"", 0, 0)
    reply.end()
    return reply.status, reply.log, made.container, bool(made.provisional)


def improve(name: str, build: BuildRequest, group: tuple[int, int, int] = (0, 0, 0)) -> tuple[int, str, bytes]:
    """The reply of the process for the second stage."""
    return _blob_reply(requests.improve(asked(ImproveRequest(name, *group, build.write(Writer()).done()))))


def native(plan: int) -> tuple[int, str, bytes]:
    return _blob_reply(requests.native(asked(PlanRequest(plan))))


def debug_info(plan: int) -> tuple[int, str, bytes]:
    return _blob_reply(requests.debug(asked(PlanRequest(plan))))


def link(*modules: int) -> tuple[int, str]:
    return _log_reply(requests.link(asked(LinkRequest(modules))))


def inspect(flags: int, *modules: int) -> tuple[int, str]:
    return _log_reply(requests.inspect(asked(InspectRequest(flags, modules))))


def asked(request: Message | None = None, released: Sequence[int] = ()) -> bytes:
    """The bytes of a request."""
    head = RequestHead(released).write(Writer())
    return (request.write(head) if request else head).done()


def _blob_reply(data: bytes) -> tuple[int, str, bytes]:
    reply = Reply(data)
    content = BytesReply.read(reply.reader).data if reply.status == SUCCESS else b""
    reply.end()
    return reply.status, reply.log, content


def _log_reply(data: bytes) -> tuple[int, str]:
    reply = Reply(data)
    reply.end()
    return reply.status, reply.log


@dataclass
class Call:
    module: spirv.Module
    name: str
    options: Options
    linked: tuple[spirv.Module, ...]
    collecting: bool
    """Did the garbage collector run meanwhile?"""


class Compiler(types.ModuleType):
    """Takes the place of the real one; its machine code is a line of text."""

    def __init__(self) -> None:
        super().__init__("anyzero.compiler.pipeline")
        self.calls: list[Call] = []
        self.fails: Exception | None = None
        self.busy = threading.Event()
        self.go = threading.Event()
        self.go.set()
        self.log = ""

    def compile_kernel(
        self, module: spirv.Module, name: str, options: Options, linked: Sequence[spirv.Module] = ()
    ) -> CompiledKernel:
        self.calls.append(Call(module, name, options, tuple(linked), gc.isenabled()))
        self.busy.set()
        assert self.go.wait(PATIENCE)
        if self.fails:
            raise self.fails
        kinds: dict[str, ArgumentKind] = {"byval": "value"}
        arguments, end = [], 0
        for each in module.kernels[name].parameters:
            size = each.size if each.kind in ("value", "byval") else 8
            end = -(-end // 8) * 8
            kind = kinds.get(each.kind, each.kind)  # type: ignore[arg-type]
            arguments.append(Argument(each.index, each.name, kind, size, end, 8))
            end += size
        stage = "first stage" if options.quick else "code"
        code = f"{stage} of {name} at level {options.level} with {len(linked)} linked".encode()
        return kernel(
            name=name,
            object=code,
            arguments=tuple(arguments),
            args_bytes=end,
            links=tuple(range(len(linked))),
            log=self.log,
            provisional=options.quick,
        )


def kernel(**changes: object) -> CompiledKernel:
    made = {
        "name": "k",
        "entry": "az_k",
        "object": b"\x7fELF",
        "lanes": 8,
        "flat": True,
        "shares_rows": False,
        "short_elements": False,
        "barriers": False,
        "printf": False,
        "sub_groups": False,
        "arguments": (),
        "args_bytes": 0,
        "local_bytes": 0,
        "private_bytes": 0,
        "spill_bytes": 0,
        "scratch_fixed": 0,
        "scratch_per_vector": 0,
        "required_group_size": None,
        "max_group_items": 0,
        "required_sub_groups": 0,
        "required_sub_group_size": 0,
        "attributes": "",
    }
    return CompiledKernel(**{**made, **changes})  # type: ignore[arg-type]


@contextlib.contextmanager
def pretending(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    """The planner with the pretended compiler and a cache of its own."""
    made = Compiler()
    patch.setitem(sys.modules, "anyzero.compiler.pipeline", made)
    patch.setattr(compiler, "pipeline", made, raising=False)
    patch.setenv("ANYZERO_CACHE_DIR", str(folder))
    settings.cache_clear()
    yield made
    settings.cache_clear()


def module(body: str, *, head: str = "", names: str = "") -> bytes:
    """A module around functions; `names` are decorations and entry points, `head` types and variables."""
    return assemble(f"{PROLOGUE}{names}{TYPES}{head}{body}")


KERNEL = """
    %{name} = OpFunction %void None %void_function
    %{name}_entry = OpLabel
{body}
    OpReturn
    OpFunctionEnd
"""
VOID_FUNCTION = "\n    %void_function = OpTypeFunction %void\n"
UNARY = "\n    %unary = OpTypeFunction %i32 %i32\n"


def entry(name: str, body: str = "") -> tuple[str, str]:
    """The entry point and the function of a kernel without parameters."""
    return f'\n    OpEntryPoint Kernel %{name} "{name}"', KERNEL.format(name=name, body=body)


def importer(kernel_name: str = "main", imported: str = "outside", type_: str = "%i32") -> bytes:
    """A kernel that calls an imported function."""
    names, body = entry(kernel_name, f"%r = OpFunctionCall {type_} %outside %{'c1' if type_ == '%i32' else 'half'}")
    names += f'\n    OpDecorate %outside LinkageAttributes "{imported}" Import'
    head = f"{VOID_FUNCTION}    %unary = OpTypeFunction {type_} {type_}\n"
    declared = f"%outside = OpFunction {type_} None %unary\n%p = OpFunctionParameter {type_}\nOpFunctionEnd\n"
    return module(declared + body, head=head, names=names)


def exporter(exported: str = "outside", kind: str = "Export", result: str = "%value", names: str = "") -> bytes:
    """A function that other modules may call, and a variable of its own."""
    names += f"""
    OpDecorate %given LinkageAttributes "{exported}" {kind}
    OpDecorate %counter LinkageAttributes "{exported}_count" {kind}
"""
    head = f"{UNARY}    %counter = OpVariable %global_i32 CrossWorkgroup %c7\n"
    body = f"""
    %given = OpFunction %i32 None %unary
    %value = OpFunctionParameter %i32
    %given_entry = OpLabel
    OpReturnValue {result}
    OpFunctionEnd
"""
    return module(body, head=head, names=names)
