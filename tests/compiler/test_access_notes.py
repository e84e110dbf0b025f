"""Kernels compiled for checks of races tell the engine of each access, with its work-items, and of barriers."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel, form_after, simplified
from anyzero.compiler.transform.access_notes import note_accesses, note_meetings
from anyzero.compiler.transform.check import check
from anyzero.layouts.container import ArgumentUse
from anyzero.layouts.kernel import NOTE_SITE_BYTES, CheckedAccess, CheckedMemory, NoteFlag, NoteSite
from benchmarks.kernels.case import Local
from tests.compiler import native
from tests.compiler.agreement.cases import behind_a_line, compiled, globals_of, module_of
from tests.compiler.reference.kernels import kernel
from tests.compiler.test_bounds_checks import COPY
from tests.kernels.suite import case

_SITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_uint64] * 3)
_GROUP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint64] * 3)
_BARRIER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)


@dataclass(frozen=True)
class Noted:
    kind: CheckedAccess
    memory: CheckedMemory
    item: int
    address: int


@dataclass
class Listener:
    """The engine's part: what it is told."""

    accesses: list[Noted] = field(default_factory=list)
    sites: dict[int, Any] = field(default_factory=dict)
    groups: list[tuple[int, int, int]] = field(default_factory=list)
    barriers: list[int] = field(default_factory=list)
    met: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def engine(self) -> dict[str, Any]:
        self._functions = {
            "az_note": _SITE(self._note),
            "az_meet": _SITE(lambda _, site, there, here, item: self.met.append((there, here, item))),
            "az_group": _GROUP(lambda _, x, y, z: self.groups.append((x, y, z))),
            "az_barrier": _BARRIER(lambda _, fences: self.barriers.append(fences)),
            "az_filled": _GROUP(lambda *_: None),
        }
        return self._functions

    def _note(self, _: int, place: int, where: int, mask: int, item: int) -> None:
        site = NoteSite.unpack(ctypes.string_at(place, NOTE_SITE_BYTES))
        self.sites[site.number] = site
        block = ctypes.cast(where, ctypes.POINTER(ctypes.c_uint64)) if site.flags & NoteFlag.BLOCK else [where]
        stride = site.stride - (1 << 32) if site.stride >> 31 else site.stride
        for lane in range(site.lanes):
            if mask >> lane & 1:
                single = site.flags & (NoteFlag.UNIFORM | NoteFlag.STRIDED)
                address = block[0] + (lane * stride if site.flags & NoteFlag.STRIDED else 0) if single else block[lane]
                self.accesses.append(Noted(CheckedAccess(site.kind), CheckedMemory(site.memory), item + lane, address))


@pytest.mark.parametrize("lanes", [1, 8])
def test_given_a_copy_then_each_work_item_notes_a_load_and_a_store(lanes: int) -> None:
    source, room = np.arange(13, dtype=np.int32), np.zeros(13, np.int32)
    listener = Listener()
    made = compile_kernel(
        kernel(COPY, "%global_i32 %global_i32"), "main", Options(level=1, lanes=lanes, check_races=True)
    )
    native.Loaded(made, engine=listener.engine)([source, room], (13,), (13,))
    for kind, array in ((CheckedAccess.LOAD, source), (CheckedAccess.STORE, room)):
        told = sorted((each.item, each.address) for each in listener.accesses if each.kind is kind)
        assert told == [(item, array.ctypes.data + 4 * item) for item in range(13)]
    assert room.tolist() == [*range(13)]
    writes = [bool(ArgumentUse.MAY_WRITE & argument.access) for argument in made.arguments]
    assert writes == [False, True]
    assert {site.granule for site in listener.sites.values()} == {4}


@pytest.mark.parametrize("name", ["reduce_int", "scan_group", "matmul_tiled", "bitonic_step", "histogram"])
def test_given_a_kernel_then_results_are_the_same_with_notes(name: str) -> None:
    each, listener = case(name), Listener()
    code = compiled(each, Options(level=1, check_races=True, check_init=True, check_sync=True))
    arguments = [behind_a_line(one) if isinstance(one, np.ndarray) else one for one in each.arguments()]
    loaded = native.Loaded(code, globals_of(module_of(each.spv)), engine=listener.engine)
    for changes in each.launches:
        given = [
            native.Local(one.nbytes) if isinstance(one, Local) else changes.get(place, one)
            for place, one in enumerate(arguments)
        ]
        loaded(given, each.global_size, each.group_size, each.offset or (0, 0, 0))
    after = {place: one for place, one in enumerate(arguments) if isinstance(one, np.ndarray)}
    assert each.mismatch(after) is None
    # All lanes that are there reach each barrier, and every group says that it begins.
    assert [(there, here) for there, here, _ in listener.met if there != here] == []
    if code.barriers:
        assert len(set(listener.groups)) == each.items // int(np.prod(each.group_size))
        assert listener.barriers
    body = simplified(module_of(each.spv), each.kernel).body
    note_accesses(body, _Shapes())  # type: ignore[arg-type]
    note_meetings(body, _Shapes())  # type: ignore[arg-type]
    check(body)


MISSED = """
    %low = OpULessThan %bool %i %l5
    OpSelectionMerge %join None
    OpBranchConditional %low %one %join
    %one = OpLabel
    OpControlBarrier %c2 %c2 %c0
    OpBranch %join
    %join = OpLabel
"""


def test_given_lanes_that_miss_a_barrier_then_they_are_told() -> None:
    listener = Listener()
    module = kernel(MISSED, "", "%l5 = OpConstant %i64 5")
    made = compile_kernel(module, "main", Options(level=1, lanes=8, check_sync=True))
    native.Loaded(made, engine=listener.engine)([], (8, 1, 1), (8, 1, 1), (0, 0, 0))
    assert [(there, here) for there, here, _ in listener.met if there != here] == [(0xFF, 0x1F)]


class _Shapes:
    def __init__(self) -> None:
        self.of: dict[object, object] = {}


def test_given_no_checks_then_nothing_is_noted() -> None:
    module = kernel(COPY, "%global_i32 %global_i32")
    assert "does not run" in form_after(module, "main", Options(), "notes")
    made = compile_kernel(module, "main", Options())
    assert not made.noted
    assert b"az_note" not in made.object
