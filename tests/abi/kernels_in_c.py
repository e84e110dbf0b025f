"""Modules whose kernels are written in C, in place of the compiler: what the engine does with machine code.

A "module" is the text of a C file. Lines that begin with `//kernel`, `//function`, `//global`, `//import`, `//export`
and `//constant` say, in JSON, what the planner would have found out by itself. Everything else is given to gcc.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import json
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_void_p
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import anyzero.driver.modules
from anyzero import ze
from anyzero.layouts.container import ArgumentKind, ContainerArgument
from anyzero.layouts.container_head import (
    CONTAINER_HEAD_BYTES,
    CONTAINER_HEAD_OFFSETS,
    CONTAINER_MAGIC,
    ContainerHead,
    KernelFlag,
)
from anyzero.layouts.module_requests import (
    BuildReply,
    BuildRequest,
    BytesReply,
    ConstantSize,
    ConstantSizes,
    ConstantsReply,
    ConstantsRequest,
    InspectRequest,
    LinkRequest,
    ModuleRelocation,
    ModuleVariable,
    PlanRequest,
)
from anyzero.layouts.planner import CompileReply, CompileRequest, ReplyHead, RequestHead
from anyzero.wire import Reader, Writer
from codegen.layouts import Struct, load
from tests.abi.calls import Calls, waiting

ROOT: Final = Path(__file__).resolve().parents[2]
TYPES: Final = {"u32": "u32 ", "u64": "u64 ", "bytes*": "u8* ", "void*": "void* "}


def _declared(struct: Struct) -> str:
    fields = (f"{TYPES[each.element]}{each.name}{f'[{each.length}]' if each.length else ''};" for each in struct.fields)
    return f"struct {struct.name} {{ {' '.join(fields)} }};"


def _structs() -> str:
    """Declarations shared by kernels and the engine, in C."""
    family = next(each for each in load(ROOT / "spec" / "layouts.toml") if each.name == "kernel")
    return "\n".join(map(_declared, family.structs))


PRELUDE: Final = """
typedef unsigned char u8; typedef int i32; typedef unsigned u32; typedef unsigned long u64; typedef float f32;
STRUCTS
extern void az_printf(struct Worker*, const char*, const u64*, u32);
extern void az_fault(struct Worker*, u32, u64) __attribute__((noreturn));
extern u8 az_globals[];
#define KERNEL(name) void name(const void* args, const struct Grid* grid, u64 first, u64 last, struct Worker* worker)
#define ARG(type, offset) (*(type*)((const u8*)args + (offset)))
#define FOR_GROUPS for (u64 group = first; group < last; ++group)
#define GROUP_X (group % grid->group_count[0])
#define GROUP_Y (group / grid->group_count[0] % grid->group_count[1])
#define GROUP_Z (group / grid->group_count[0] / grid->group_count[1])
#define FOR_X for (u64 x = 0; x < grid->group_size[0]; ++x)
#define GLOBAL_X (GROUP_X * grid->group_size[0] + x + grid->global_offset[0])
""".replace("STRUCTS", _structs())

NUMBERS: Final = itertools.count(1)
"""Numbers of plans: a stand-in may be notified of the release of another one's plan."""


@functools.cache
def compiled(source: str, *flags: str) -> bytes:
    """The relocatable object that gcc makes of the text."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "kernel.o")
        command = [
            "gcc",
            "-c",
            "-O2",
            "-fPIC",
            "-mcmodel=small",
            "-fno-stack-protector",
            *flags,
            "-xc",
            "-",
            "-o",
            made,
        ]
        subprocess.run(command, input=(PRELUDE + source).encode(), check=True)
        return made.read_bytes()


def container(object_: bytes, **facts: Any) -> bytes:
    """The bytes of one kernel. `args` are pairs of a kind and a size, or triples with an alignment.

    Without `flags`, it is known to end.

    `declared` are types and names, as the planner writes them; without it the arguments have names alone.
    """
    rows, names, offset = [], [], 0
    for index, (kind, size, *rest) in enumerate(facts.get("args", ())):
        alignment = rest[0] if rest else min(size, 8)
        offset = -(-offset // alignment) * alignment
        name = (facts["declared"][index] if "declared" in facts else f"arg{index}").encode()
        rows.append(ContainerArgument(ArgumentKind[kind.upper()], size, offset, alignment, 0, 0, len(name)).pack())
        names.append(name + b"\0")
        offset += size
    name, entry = facts["name"].encode(), facts.get("entry", facts["name"]).encode()
    attributes = facts.get("attributes", "").encode()
    links = facts.get("links", ())
    rest = b"".join(rows) + b"".join(names) + struct.pack(f"<{len(links)}Q", *links)
    rest += name + b"\0" + entry + b"\0" + attributes + b"\0" + object_
    head = partial(
        ContainerHead,
        magic=CONTAINER_MAGIC,
        total_bytes=CONTAINER_HEAD_BYTES + len(rest),
        lanes=facts.get("lanes", 8),
        flags=facts.get("flags", KernelFlag.CONSTANT_TURNS),
        n_args=len(rows),
        args_bytes=offset,
        local_bytes=facts.get("local", 0),
        private_bytes=facts.get("private", 0),
        spill_bytes=facts.get("spill", 0),
        scratch_fixed=facts.get("scratch", 0),
        scratch_per_vector=facts.get("scratch_per_vector", 0),
        n_links=len(links),
        required_group=tuple(facts.get("required", (0, 0, 0))),
        max_group_items=facts.get("max_items", 0),
        required_sub_groups=facts.get("sub_groups", 0),
        required_sub_group_size=facts.get("sub_group_size", 0),
        kernel_uuid=facts.get("uuid", b"k" * 16),
        module_uuid=b"m" * 16,
        name_bytes=len(name),
        entry_bytes=len(entry),
        attributes_bytes=len(attributes),
        lines_bytes=0,
        object_bytes=len(object_),
        counters_bytes=0,
    )
    covered = CONTAINER_HEAD_OFFSETS["checksum"] + 8
    return head(checksum=zlib.crc32(head(checksum=0).pack()[covered:] + rest)).pack() + rest


def reply(status: int, log: str = "", body: Any = None) -> bytes:
    head = ReplyHead(status, 0, log).write(Writer())
    return (body.write(head) if body else head).done()


class Planner(ModuleType):
    """Stands where `anyzero.driver.modules.requests` would, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__("anyzero.driver.modules.requests")
        self.plans: dict[int, dict[str, Any]] = {}
        self.released: list[int] = []
        self.compilations: list[str] = []
        self.natives = 0
        self.inputs: list[list[tuple[bytes, bytes, dict[int, bytes]]]] = []
        self.spoil: Any = None
        """Changes a container before the engine gets it."""

    def open(self, request: bytes) -> Reader:
        reader = Reader(request)
        for plan in RequestHead.read(reader).released:
            self.released.append(plan)
            self.plans.pop(plan, None)
        return reader

    def constants(self, request: bytes) -> bytes:
        modules = []
        for source in ConstantsRequest.read(self.open(request)).modules:
            lines = [line for line in source.decode().splitlines() if line.startswith("//constant ")]
            found = [json.loads(line.removeprefix("//constant ")) for line in lines]
            modules.append(ConstantSizes([ConstantSize(*pair) for pair in found]))
        return reply(ze.ZE_RESULT_SUCCESS, "", ConstantsReply(modules))

    def build(self, request: bytes) -> bytes:
        form, _pages, given = BuildRequest.read(self.open(request))
        sources = [
            (each.data, each.flags.encode(), {constant.number: constant.value for constant in each.constants})
            for each in given
        ]
        self.inputs.append(sources)
        source = b"\n".join(data for data, _, _ in sources).decode()
        if form == ze.ZE_MODULE_FORMAT_NATIVE:
            if not source.startswith("native:"):
                return reply(ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, "this is no native binary")
            source = source.removeprefix("native:")
        if "#error" in source:
            return reply(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "the source asks to fail")
        said: dict[str, list[Any]] = {key: [] for key in ("kernel", "function", "global", "import", "export")}
        for line in source.splitlines():
            for key, found in said.items():
                if line.startswith(f"//{key} "):
                    found.append(json.loads(line.removeprefix(f"//{key} ")))
        plan = next(NUMBERS)
        self.plans[plan] = {"source": source, "linked": [], **said}
        image, variables, relocations = b"", [], []
        for each in said["global"]:
            data = bytes.fromhex(each.get("image", "")).ljust(each["size"], b"\0")
            variables.append(ModuleVariable(each["name"], len(image), each["size"]))
            if "points_to" in each:
                relocations.append(ModuleRelocation(len(image), each["points_to"]))
            image += data
        body = BuildReply(
            plan,
            [each["name"] for each in said["kernel"]],
            [each["name"] for each in said["function"]],
            variables,
            len(image),
            64,
            image.rstrip(b"\0"),
            relocations,
            said["import"],
            ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS if said["import"] else 0,
            0,  # no two modules are the same to the engine
        )
        return reply(ze.ZE_RESULT_SUCCESS, "built", body)

    def compile(self, request: bytes) -> bytes:
        id_, name, kind, _ = CompileRequest.read(self.open(request))
        plan = self.plans[id_]
        self.compilations.append(name)
        facts = next(each for each in plan["function" if kind else "kernel"] if each["name"] == name)
        missing = [each for each in facts.get("imports", plan["import"]) if not plan["linked"]]
        if missing:
            return reply(ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED, f"{name} needs {', '.join(missing)}")
        facts = facts | {"links": plan["linked"]} | ({"flags": KernelFlag.FUNCTION} if kind else {})
        made = container(compiled(plan["source"], *facts.get("compiler", ())), **facts)
        made = self.spoil(made) if self.spoil else made
        return reply(ze.ZE_RESULT_SUCCESS, "", CompileReply(made, 0, 0))

    def native(self, request: bytes) -> bytes:
        plan = self.plans[PlanRequest.read(self.open(request)).plan]
        self.natives += 1
        return reply(ze.ZE_RESULT_SUCCESS, "", BytesReply(b"native:" + plan["source"].encode()))

    def link(self, request: bytes) -> bytes:
        ids = LinkRequest.read(self.open(request)).plans
        exports = {name for plan in ids for name in self.plans[plan]["export"]}
        new = [plan for plan in ids if not self.plans[plan]["linked"]]
        missing = [name for plan in new for name in self.plans[plan]["import"] if name not in exports]
        if missing:
            return reply(ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE, f"unresolved: {', '.join(missing)}")
        for plan in new:
            others = [other for other in ids if other != plan]
            through = [far for other in others for far in self.plans[other]["linked"]]
            if self.plans[plan]["import"]:
                self.plans[plan]["linked"] = list(dict.fromkeys([*others, *through]))
        return reply(ze.ZE_RESULT_SUCCESS, "linked")

    def inspect(self, request: bytes) -> bytes:
        flags, ids = InspectRequest.read(self.open(request))
        found = [name for plan in ids for name in self.plans[plan]["import" if flags & 1 else "export"]]
        return reply(ze.ZE_RESULT_SUCCESS, "\n".join(found))


@contextmanager
def planner() -> Iterator[Planner]:
    """The engine asks this one as long as it lasts."""
    stand_in = Planner()
    key = stand_in.__name__
    before, attribute = sys.modules.get(key), getattr(anyzero.driver.modules, "requests", None)
    sys.modules[key] = stand_in
    anyzero.driver.modules.requests = stand_in  # type: ignore[attr-defined]
    try:
        yield stand_in
    finally:
        sys.modules.pop(key)
        if before is not None:
            sys.modules[key] = before
        if attribute is not None:
            anyzero.driver.modules.requests = attribute  # type: ignore[attr-defined]
        else:
            del anyzero.driver.modules.requests  # type: ignore[attr-defined]


def build(az: Calls, context: c_void_p, source: str, **fields: Any) -> tuple[c_void_p, c_void_p]:
    """A module of that text, and its build log."""
    module, log = c_void_p(), c_void_p()
    data = ctypes.create_string_buffer(source.encode())
    desc = ze.ze_module_desc_t(pInputModule=ctypes.addressof(data), inputSize=len(source.encode()), **fields)
    az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), byref(log))
    return module, log


def kernel(
    az: Calls, module: c_void_p, name: str, *arguments: Any, group: tuple[int, ...] = (), flags: int = 0
) -> c_void_p:
    """A kernel with its arguments and group size set. An int is an address, None a null pointer."""
    made = az.new("zeKernelCreate", module, byref(ze.ze_kernel_desc_t(pKernelName=name.encode(), flags=flags)))
    set_arguments(az, made, *arguments)
    if group:
        az.ok("zeKernelSetGroupSize", made, *(*group, 1, 1)[:3])
    return made


class Local(int):
    """An argument for this many bytes of local memory."""


def set_arguments(az: Calls, kernel: c_void_p, *arguments: Any) -> None:
    for index, value in enumerate(arguments):
        if isinstance(value, Local):
            az.ok("zeKernelSetArgumentValue", kernel, index, int(value), None)
            continue
        held = c_void_p(value) if value is None or isinstance(value, int) else value
        az.ok("zeKernelSetArgumentValue", kernel, index, ctypes.sizeof(held), byref(held))


def launch(
    az: Calls, command_list: c_void_p, kernel: c_void_p, *groups: int, signal: Any = None, waits: Sequence[Any] = ()
) -> None:
    count = ze.ze_group_count_t(*(*groups, 1, 1)[:3])
    az.ok("zeCommandListAppendLaunchKernel", command_list, kernel, byref(count), signal, *waiting(waits))


def log_text(az: Calls, log: c_void_p) -> str:
    size = ctypes.c_size_t()
    az.ok("zeModuleBuildLogGetString", log, byref(size), None)
    text = ctypes.create_string_buffer(size.value)
    az.ok("zeModuleBuildLogGetString", log, byref(size), text)
    return text.value.decode()
