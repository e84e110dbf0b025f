"""Builds on disk: the replies that the engine got when modules were first built.

A process that finds one answers for the module without reading its SPIR-V, and finds its kernels' containers by keys
that are stored along. That makes a first launch from the cache five times as fast: reading SPIR-V needs a good part of
the compiler. Requests that need more have the module read after all (`plans.find`). Only modules of one input that are
linked with no other are kept. Nothing here imports the compiler.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from anyzero import kernel_cache
from anyzero.config import Config
from anyzero.driver.answering import on_release
from anyzero.driver.modules import provenance
from anyzero.driver.modules.container_head import looks_whole
from anyzero.driver.settings import settings
from anyzero.fingerprint import fingerprint
from anyzero.kernel_cache import Cache
from anyzero.layouts.planner import CodeKind
from anyzero.lazy_dataclass import replace
from anyzero.wire import Reader, WireError, Writer

__all__ = ["Keys", "compiled", "container_key", "find", "keep", "next_id", "prepare", "request_of", "stored"]

_FORMAT: Final = b"anyzero build 2"


class Keys:
    """Base digests of the keys of a module's containers; empty for a stage that its kernels do not have."""

    __slots__ = ("final", "first")

    def __init__(self, final: bytes, first: bytes) -> None:
        self.final = final
        self.first = first


# A process may have several planners, one after the other, so each starts counting at a random number.
_ids: Iterator[int] = itertools.count(int.from_bytes(os.urandom(4), "little") << 32 | 1)
_found: dict[int, tuple[bytes, Keys]] = {}
"""Requests to build and keys, by the ids of plans."""


def next_id() -> int:
    """The id of a new plan."""
    return next(_ids)


def prepare() -> None:
    """Computes ahead of the first request what the keys of all have in common."""
    _environment(settings(), provenance.llvm_files(), provenance.processor())


def find(request: bytes) -> tuple[bytes, str] | None:
    """The body of the reply to a request to build, and its log, if the same was built before."""
    store = _store(settings())
    content = store.load(_key(request)) if store else None
    if content is None:
        return None
    try:
        reader = Reader(content)
        log, keys, rest = reader.text(), Keys(reader.blob(), reader.blob()), reader.raw(reader.left)
    except WireError:
        return None
    id_ = next_id()
    _found[id_] = request, keys
    return Writer().u64(id_).raw(rest).done(), log


def keep(request: bytes, reply: bytes, log: str, keys: Keys) -> None:
    """Stores the body of the reply to a request, but for the plan's id, which it begins with."""
    store = _store(settings())
    if store:
        content = Writer().text(log).blob(keys.final).blob(keys.first).raw(reply[8:])
        store.store(_key(request), content.done())


def request_of(id_: int) -> bytes | None:
    """The request to build a module that was found."""
    found = _found.get(id_)
    return found[0] if found else None


def compiled(id_: int, name: str, kind: int, *, soon: bool) -> tuple[bytes, bool] | None:
    """The container of a kernel of a module that was found, and whether it is of the first stage; None if it is not
    on disk.
    """
    found = _found.get(id_)
    store = _store(settings())
    if found is None or store is None or kind != CodeKind.KERNEL:
        return None
    keys = found[1]
    first = container_key(keys.first, name, kind) if soon and keys.first else b""
    return stored(store, settings(), container_key(keys.final, name, kind), first)


def stored(store: Cache | None, environment: Config, final: bytes, first: bytes) -> tuple[bytes, bool] | None:
    """A container by its keys, and whether it is of the first stage; `first` is empty where that is not wanted."""
    if store is None or environment.dump:
        return None
    first = first if environment.stages != "final" else b""
    if not (first and environment.stages == "quick") and looks_whole(content := store.load(final) or b""):
        return content, False
    if first and looks_whole(content := store.load(first) or b""):
        return content, True
    return None


def container_key(base: bytes, name: str, kind: int) -> bytes:
    """The key of a container."""
    return hashlib.sha256(Writer().raw(base).u32(kind).text(name).done()).digest()


def _store(environment: Config) -> Cache | None:
    return None if environment.dump else kernel_cache.of(environment)


def _key(request: bytes) -> bytes:
    digest = _environment(settings(), provenance.llvm_files(), provenance.processor()).copy()
    digest.update(request)
    return digest.digest()


@cache
def _environment(settings: Config, llvm: str, processor: str) -> hashlib._Hash:
    """A digest of the inputs of a build besides the request."""
    # Folders that receive recordings and findings have new names each time, and say nothing about code.
    environment = replace(settings, trace=None, check_report=None)
    content = Writer().raw(_FORMAT).text(repr(environment)).text(_planner()).text(llvm).text(processor)
    return hashlib.sha256(content.done())


def _planner() -> str:
    """A fingerprint of the code that reads modules and makes keys."""
    package = os.path.abspath(f"{__file__}/../../..")  # noqa: PTH100 (as objects, paths take ten times as long)
    return "\n".join(fingerprint(f"{package}/{each}") for each in ("compiler", "driver/modules", "layouts", "spirv"))


def _release(ids: Sequence[int]) -> None:
    for id_ in ids:
        _found.pop(id_, None)


on_release(_release)
