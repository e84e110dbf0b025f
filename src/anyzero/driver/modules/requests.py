"""Requests about modules and kernels: the functions that the engine calls with bytes, for bytes.

A request begins with the ids of plans to release, a reply with a status and a log. Nothing is raised: every error
becomes a status. Any thread may call; a plan has a lock.

Modules and kernels that are in the cache are answered from there, see `STORED`. `answers` does the rest, with imports
of its own.
"""

from __future__ import annotations

from typing import Final

from anyzero.driver.answering import answering, reply
from anyzero.driver.modules import builds
from anyzero.driver.modules.container_head import fits_groups
from anyzero.driver.settings import settings
from anyzero.layouts.planner import CompileReply, CompileRequest, ReplyOrigin
from anyzero.wire import Reader, Writer

__all__ = ["build", "compile", "constants", "debug", "improve", "inspect", "link", "native", "restore"]


@answering
def build(request: Reader) -> bytes:
    """Makes a plan from SPIR-V or a native binary, and returns its names; compiles nothing."""
    asked = request.raw(request.left)
    found = _stored_build(asked)
    if found:
        return found
    from anyzero.driver.modules import answers

    return answers.build(asked)


@answering
def compile(request: Reader) -> bytes:  # noqa: A001 (the engine's word for it)
    """Makes the container of one kernel, or of one function whose address is asked for."""
    asked = CompileRequest.read(request)
    request.end()
    found = _stored_kernel(asked)
    if found:
        return found
    from anyzero.driver.modules import answers

    return answers.compile(asked)


@answering
def constants(request: Reader) -> bytes:
    """Returns the size of each specialization constant, which only the SPIR-V tells; the engine reads the values."""
    from anyzero.driver.modules import answers

    return answers.constants(request)


@answering
def restore(request: Reader) -> bytes:
    """Recreates a plan of an earlier planner, with its id in the engine."""
    from anyzero.driver.modules import answers

    return answers.restore(request)


@answering
def improve(request: Reader) -> bytes:
    """Makes the second stage of a kernel, or its code for groups of one size.

    That is done in a process that knows no plans: the request to build comes along.
    """
    from anyzero.driver.modules import answers

    return answers.improve(request)


@answering
def native(request: Reader) -> bytes:
    """Makes the native binary of a module, with all kernels that can be compiled without other modules."""
    from anyzero.driver.modules import answers

    return answers.native(request)


@answering
def debug(request: Reader) -> bytes:
    """Makes an ELF file with the DWARF of all kernels that were built with -g; no bytes where there are none."""
    from anyzero.driver.modules import answers

    return answers.debug(request)


@answering
def link(request: Reader) -> bytes:
    """Finds for the imports of each module an export of another."""
    from anyzero.driver.modules import answers

    return answers.link(request)


@answering
def inspect(request: Reader) -> bytes:
    """Lists imports and exports."""
    from anyzero.driver.modules import answers

    return answers.inspect(request)


def _stored_build(asked: bytes) -> bytes:
    """The reply to a request to build, from the cache; no bytes if it is not there."""
    found = builds.find(asked)
    return reply(Writer().raw(found[0]), found[1], origin=ReplyOrigin.DISK) if found else b""


def _stored_kernel(asked: CompileRequest) -> bytes:
    found = builds.compiled(asked.plan, asked.name, asked.kind, soon=bool(asked.soon))
    if found is None:
        return b""
    container, provisional = found
    both = settings().stages == "both"
    made = CompileReply(container, both and provisional, both and fits_groups(container))
    return reply(made.write(Writer()), origin=ReplyOrigin.DISK)


STORED: Final = {
    "build": answering(lambda request: _stored_build(request.raw(request.left))),
    "compile": answering(lambda request: _stored_kernel(CompileRequest.read(request))),
}
"""Functions that answer from the cache within a fraction of a millisecond, with no bytes where they cannot."""
