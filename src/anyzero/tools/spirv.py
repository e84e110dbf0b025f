"""`anyzero spirv`: the contents of a module, and the results of compiling its kernels."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from anyzero import errors
from anyzero.compiler import elf, spirv
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.spirv.grammar import enumerant_name
from anyzero.compiler.spirv.reader import words_of
from anyzero.driver.modules import build_options
from anyzero.driver.settings import settings

__all__ = ["asm", "dis", "info", "passes"]

LARGEST: Final = 64 << 20
"""Bytes of a file that are read; more than that is no module."""


def asm(
    file: str,
    kernel: str | None,
    *,
    form: str,
    after: str | None,
    lanes: int | None,
    cpu: str | None,
    flags: str,
    output: str | None,
) -> int:
    """Print a kernel as assembly, LLVM's IR or the compiler's own form, or in its form after the named pass."""
    module, options = _read(file), _options(flags, lanes, cpu)
    if kernel is None and len(module.kernels) != 1:
        for name in module.kernels:
            print(_printable(name))
        said = f"which of the {len(module.kernels)} kernels?" if module.kernels else f"there is no kernel in {file}"
        print(f"anyzero spirv asm: error: {said} (anyzero spirv asm {file} KERNEL)", file=sys.stderr)
        return 2
    name = _chosen(module, kernel) if kernel is not None else next(iter(module.kernels))
    with _refusals(file):
        text = _form(module, name, options, form) if after is None else _form_after(module, name, options, after)
    return _write(text, output)


def passes() -> int:
    """Print the compiler's passes in their order, with a description of each."""
    from anyzero.compiler.pipeline import LANES
    from anyzero.tools.terminal import wrapped

    width = max(len(each.name) for each in LANES.passes) + 2
    for each in LANES.passes:
        print(wrapped(f"{each.name:<{width}}{each.does}", " " * width))
    return 0


def dis(file: str, *, output: str | None) -> int:
    """Print a module, one instruction per line; also one that the compiler refuses."""
    with _refusals(file):
        text = spirv.disassemble(words_of(_data(file)))
    return _write(text, output)


def info(file: str, kernel: str | None, *, lanes: int | None, cpu: str | None, flags: str, as_json: bool) -> int:
    """Print the declarations of a module and the results of compiling its kernels."""
    module, options = _read(file), _options(flags, lanes, cpu)
    names = list(module.kernels) if kernel is None else [_chosen(module, kernel)]
    found = _module(file, module)
    found["kernels"] = [_kernel(module, name, options) for name in names]
    print(json.dumps(found, indent=2, ensure_ascii=False) if as_json else "\n".join(_shown(found)), flush=True)
    return 1 if any("error" in each for each in found["kernels"]) else 0


def _data(file: str) -> bytes:
    try:
        if file == "-":
            return sys.stdin.buffer.read(LARGEST + 1)
        with Path(file).open("rb") as opened:
            return opened.read(LARGEST + 1)
    except OSError as error:
        raise errors.InvalidArgument(f"cannot read {file}: {error.strerror}") from None


def _read(file: str) -> spirv.Module:
    with _refusals(file):
        return spirv.read(_data(file))


def _options(flags: str, lanes: int | None, cpu: str | None) -> Options:
    """Options as a launch would have them: build flags, then the environment; the arguments here outrank both."""
    options, warnings = build_options.parse(flags, settings())
    for warning in warnings:
        print(f"anyzero: warning: {warning}", file=sys.stderr)
    asked: dict[str, Any] = {}
    if lanes is not None:
        asked["lanes"] = lanes
    if cpu is not None:
        asked["cpu"] = cpu
    return replace(options, **asked)


@contextmanager
def _refusals(file: str) -> Iterator[None]:
    """Turn the compiler's errors into errors of this command."""
    try:
        yield
    except spirv.SpirvError as error:
        where = "standard input" if file == "-" else file
        raise errors.BuildError(f"{where}: {error}", remedy="") from None


def _chosen(module: spirv.Module, name: str) -> str:
    if name in module.kernels:
        return name
    known = ", ".join(map(_printable, module.kernels)) or "none"
    raise errors.InvalidArgument(f"there is no kernel {_printable(name)}; there are {known}")


def _verify(module: spirv.Module, name: str) -> None:
    spirv.verify_declarations(module)
    spirv.verify_kernel(module, name)


def _form(module: spirv.Module, name: str, options: Options, form: str) -> str:
    from anyzero.compiler import pipeline

    _verify(module, name)
    return pipeline.form(module, name, options, form)


def _form_after(module: spirv.Module, name: str, options: Options, after: str) -> str:
    from anyzero.compiler import pipeline

    if all(each.name != after for each in pipeline.LANES.passes):
        raise errors.InvalidArgument(f"there is no pass {after}; anyzero spirv passes lists them")
    _verify(module, name)
    return pipeline.form_after(module, name, options, after)


def _compiled(module: spirv.Module, name: str, options: Options) -> CompiledKernel:
    from anyzero.compiler import pipeline

    _verify(module, name)
    return pipeline.compile_kernel(module, name, options)


def _write(text: str, output: str | None) -> int:
    if output is None or output == "-":
        # Flushed here, where a closed pipe is no error.
        print(text, end="", flush=True)
        return 0
    try:
        Path(output).write_text(text)
    except OSError as error:
        raise errors.InvalidArgument(f"cannot write {output}: {error.strerror}") from None
    return 0


def _module(file: str, module: spirv.Module) -> dict[str, Any]:
    return {
        "file": file,
        "version": f"{module.version[0]}.{module.version[1]}",
        "generator": f"{module.generator:#x}",
        "bytes": 4 * len(module.words),
        "capabilities": [enumerant_name("Capability", each) for each in module.capabilities],
        "extensions": list(module.extensions),
        "specialization_constants": {str(number): str(each.type) for number, each in module.specializable.items()},
        "imports": sorted(map(_printable, module.imports)),
        "exports": sorted(map(_printable, module.exports)),
    }


def _kernel(module: spirv.Module, name: str, options: Options) -> dict[str, Any]:
    declared = module.kernels[name]
    found: dict[str, Any] = {
        "name": _printable(name),
        "required_group_size": declared.required_group_size,
        "group_size_hint": declared.group_size_hint,
        "required_sub_group_size": declared.required_sub_group_size,
    }
    try:
        made = _compiled(module, name, options)
    except spirv.SpirvError as error:
        return found | {"error": str(error)}
    arguments = [
        {"name": _printable(each.name), "type": each.type or each.kind, "kind": each.kind, "bytes": each.size}
        for each in made.arguments
    ]
    return found | {
        "arguments": arguments,
        "lanes": made.lanes,
        "lanes_because": made.lanes_because,
        "code_bytes": _code(made.object),
        "private_bytes": made.private_bytes,
        "spill_bytes": made.spill_bytes,
        "local_bytes": made.local_bytes,
        "scratch_bytes": made.scratch_fixed + made.scratch_per_vector,
        "barriers": made.barriers,
        "one_row": made.flat,
        "sub_groups": made.sub_groups,
        "printf": made.printf,
        "waits": made.waits,
    }


def _code(object_: bytes) -> int:
    """Bytes of an ELF object's sections that are machine code."""
    return sum(header.size for header in elf.Object(object_).headers if header.flags & elf.EXECUTABLE)


def _shown(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['file']}: SPIR-V {found['version']}, {found['bytes']} bytes, generator {found['generator']}"
    for title in ("capabilities", "extensions", "imports", "exports"):
        if found[title]:
            yield f"  {title:<16}{', '.join(found[title])}"
    if constants := found["specialization_constants"]:
        yield f"  {'constants':<16}{', '.join(f'{number}: {kind}' for number, kind in constants.items())}"
    for kernel in found["kernels"]:
        yield ""
        yield f"kernel {kernel['name']}"
        yield from (f"  {title:<16}{text}" for title, text in _rows(kernel))


def _rows(kernel: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for title, key in (("group size", "required_group_size"), ("size hint", "group_size_hint")):
        if kernel[key]:
            yield title, f"{'required: ' if title == 'group size' else ''}{' × '.join(map(str, kernel[key]))}"
    if kernel["required_sub_group_size"]:
        yield "sub-group size", f"required: {kernel['required_sub_group_size']}"
    if "error" in kernel:
        yield "fails", kernel["error"]
        return
    for number, each in enumerate(kernel["arguments"]):
        named = f"{each['type']} {each['name']}".rstrip()
        yield "arguments" if number == 0 else "", f"{number}: {named}, {each['bytes']} bytes"
    yield "lanes", f"{kernel['lanes']}: {kernel['lanes_because']}"
    yield "code", f"{kernel['code_bytes']} bytes"
    parts = (("private", "work-item"), ("spill", "work-item"), ("local", "group"), ("scratch", "vector"))
    yield "memory", ", ".join(f"{kind} {kernel[f'{kind}_bytes']} bytes a {whose}" for kind, whose in parts)
    said = {"barriers": "barriers", "sub_groups": "sub-groups", "printf": "printf", "waits": "may wait for others"}
    if has := [text for key, text in said.items() if kernel[key]]:
        yield "has", ", ".join(has)


def _printable(text: str) -> str:
    """Unprintable characters replaced: names come from the module, and a broken one must not control the terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
