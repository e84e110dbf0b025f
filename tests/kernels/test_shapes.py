"""Groups and sizes of every kind: each shape computes the same, and the table finds the slowest of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.kernels import contest, spread
from benchmarks.kernels.contest import Found
from benchmarks.kernels.ours import Anyzero
from benchmarks.kernels.peers import PEERS
from benchmarks.kernels.program import Program
from benchmarks.kernels.shapes import FAMILIES, SHAPES, Family, shapes
from benchmarks.kernels.suites import SUITES, program
from benchmarks.kernels.targets import TARGETS
from tests.thorough import every


@pytest.fixture(scope="module")
def anyzero() -> Iterator[Anyzero]:
    made = Anyzero()
    yield made
    made.context.close()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.key)
def test_every_group_computes_the_same(anyzero: Anyzero, family: Family) -> None:
    for group in every(2, family.groups):
        shape = next(each for each in shapes(family) if each.group == group)
        case = shape.program.case("test")
        # Nothing divides the test's size, so that the bound of the kernel is needed.
        assert all(size % part == 0 for size, part in zip(case.global_size, group, strict=False))
        prepared = anyzero.prepare(case, case.arguments())
        prepared.run()
        assert case.mismatch(prepared.results()) is None, shape.program.key


def test_the_usual_groups_are_there() -> None:
    groups = {shape.group for shape in SHAPES}
    assert {(8, 8), (16, 16), (32, 4), (64, 4), (256, 1), (8, 8, 4), (256,), ()} <= groups
    assert {1000, 1023, 1021} <= {shape.size for shape in SHAPES}
    for family in FAMILIES:
        assert len(family.sizes) == len(family.quick)
        assert set(family.usual) <= set(family.groups)


def test_programs_of_two_dimensions_have_groups_that_people_write() -> None:
    for each in SUITES["programs"]:
        case = each.case("full")
        if len(case.group_size) == 2:
            assert case.group_size == (16, 16), each.key


def test_keys_name_one_program() -> None:
    every: list[Program] = [each for programs in SUITES.values() for each in programs]
    assert len({each.key for each in every}) == len(every)
    assert program("multiply@1021@none").case("full").group_size == ()
    assert program("multiply@1021@16x16").case("full").global_size == (1024, 1024)


def results(times: dict[str, float], rival: float, key: str = "convolve") -> spread.Results:
    family = next(each for each in FAMILIES if each.key == key)
    return [
        (shape, {"anyzero": Found(samples=[times[shape.title] * 1e6]), "Intel": Found(samples=[rival * 1e6])})
        for shape in shapes(family)
        if shape.title in times
    ]


def test_the_worst_stands_beside_the_best() -> None:
    measured = results({"1024 in 8×8": 3.0, "1024 in 16×16": 2.0, "1024, no group": 2.2, "1000 in 16×16": 8.0}, 4.0)
    row = spread.summary(FAMILIES[2], measured)
    assert row["spread"] == {"anyzero": 1.5, "Intel": 1.0}
    assert (row["fastest"]["shape"], row["slowest"]["shape"]) == ("1024 in 16×16", "1000 in 16×16")
    # The smaller size has less to do.
    assert row["odd"]["anyzero"] == pytest.approx(8.0 * 1.024**2 / 2.0)
    assert (row["highest"], row["worst_shape"], row["lowest"]) == (2.0, "1000 in 16×16", 0.5)
    assert row["worst_to_worst"] == pytest.approx(2.0)
    assert row["best_to_best"] == pytest.approx(0.5)
    for shape, found in measured:
        if not shape.group or shape.size != 1024:
            found["C++"] = Found(samples=[(5.0 if shape.group else 4.0) * 1e6])  # type: ignore[index]
    assert spread.summary(FAMILIES[2], measured)["odd"]["C++"] == pytest.approx(5.0 * 1.024**2 / 4.0)
    text = spread.as_text(measured, ["a note"])
    assert "≤ 1.2 ✗" in text
    assert "5×5 convolution, 1024, no group" in text
    assert json.loads(json.dumps(spread.as_json(measured)))["families"][0]["spread"]["anyzero"] == 1.5


def test_small_groups_stand_beside_large_ones_where_the_kernel_uses_its_groups() -> None:
    times = {"1024 in 8×8": 3.0, "1024 in 32×4": 1.0, "1024 in 64×4": 2.5, "1024 in 256×1": 5.0}
    (family,) = spread.summaries(results(times, 4.0, "smooth"))
    assert family["small_to_large"] == pytest.approx(3.0 / 2.5)
    (family,) = spread.summaries(results(times, 4.0))
    assert "small_to_large" not in family


def test_shapes_take_turns_on_shared_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "PACE", ("test", 2, 1.0))
    peers = [each for each in PEERS if each.name in ("anyzero", "numpy", spread.PLAIN)]
    contestants, _ = contest.enter(peers, False, {})
    told: list[str] = []
    try:
        chosen = [each for name in ("multiply", "diffuse", "smooth") for each in spread.select(name, True)]
        measured = spread.measure(contestants, chosen, False, told.append)
    finally:
        for contestant in contestants:
            contestant.close()
    assert [shape for shape, _ in measured] == chosen
    assert len(told) == len(chosen)
    for shape, found in measured:
        assert found["anyzero"].trouble == ""
        assert len(found["anyzero"].samples) == 2
        assert ("numpy" in found) == shape.family.blas
        assert (spread.PLAIN in found) == (shape.family.native and not shape.group)
        assert all(each.trouble == "" for each in found.values())
    blas, _, plain, local = spread.summaries(measured)
    assert plain["odd"][spread.PLAIN] > 0
    assert blas["to_blas"] > 0
    assert local["spread"]["anyzero"] >= 1


def test_a_sample_finds_the_caches_as_its_own_kernel_left_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes that share their buffers with many others would find more of them in the caches than the others do."""
    monkeypatch.setattr(spread, "PACE", ("test", 2, 1.0))
    asked: list[tuple[str, int | None]] = []
    answer = {"ns": 0.0}

    def ask(contestant: contest.Contestant, do: str, **order: Any) -> dict[str, Any]:
        asked.append((do, order.get("warm")))
        return answer

    monkeypatch.setattr(contest.Contestant, "ask", ask)
    monkeypatch.setattr(contest.Contestant, "revive", lambda contestant: None)
    ours = object.__new__(contest.Contestant)
    ours.peer = next(each for each in PEERS if each.name == "anyzero")
    monkeypatch.setattr(spread.machine, "Others", lambda contestants: SimpleNamespace(cores=lambda: 0.0))
    for took, warm in ((spread.WARM_NS / 100, spread.WARM), (spread.WARM_NS / 2, 2), (spread.WARM_NS * 2, 0)):
        asked.clear()
        answer["ns"] = took
        spread.measure([ours], spread.select("turn", True), False, lambda text: None)
        assert {given for do, given in asked if do == "time"} == {warm}


def test_a_peer_that_uses_more_is_left_out() -> None:
    peer = next(each for each in PEERS if each.name == "numpy")
    skipped: dict[str, str] = {}
    assert contest.enter([peer], False, skipped, replace(TARGETS["avx2"], beyond=("numpy",)))[0] == []
    assert skipped["numpy"].startswith("it cannot be held to AVX2")


def test_every_contestant_is_held_to_the_instruction_set() -> None:
    """Which variable each of them reads was found out by disassembling what they compiled."""
    for name, march in {"avx2": "haswell", "sse4.2": "x86-64-v2"}.items():
        given = TARGETS[name].variables
        assert given["ANYZERO_TARGET"] == given["BENCHMARKS_MARCH"] == march
        assert {
            "CL_CONFIG_CPU_TARGET_ARCH",
            "NUMBA_CPU_NAME",
            "OPENBLAS_CORETYPE",
            "NPY_DISABLE_CPU_FEATURES",
        } <= given.keys()
        assert TARGETS[name].hidden
    assert not TARGETS["native"].variables
