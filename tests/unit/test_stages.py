"""Two stages of a kernel, as the planner makes and keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anyzero.driver.modules import container
from anyzero.driver.modules import native as binaries
from anyzero.driver.settings import settings
from tests.compiler.samples import MODULES
from tests.unit.planning import (
    SUCCESS,
    Compiler,
    build,
    create,
    create_soon,
    exporter,
    importer,
    improve,
    link,
    native,
    pretending,
    question,
)

SAXPY = MODULES["saxpy"]


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    monkeypatch.delenv("ANYZERO_STAGES", raising=False)
    with pretending(tmp_path, monkeypatch) as made:
        yield made


def stages(compiler: Compiler) -> list[bool]:
    """Of each compilation, whether it was of the first stage."""
    return [call.options.quick for call in compiler.calls]


def code(data: bytes) -> bytes:
    return container.decode(data).kernel.object


def test_soon_is_the_first_stage_and_nothing_else_is(compiler: Compiler) -> None:
    built = build(SAXPY)
    found, provisional = create_soon(built.plan, "saxpy")
    assert provisional
    assert code(found).startswith(b"first stage")
    assert create_soon(built.plan, "saxpy") == (found, True)
    status, _, final = create(built.plan, "saxpy")
    assert status == SUCCESS
    assert code(final).startswith(b"code")
    assert stages(compiler) == [True, False]
    # From now on there is better code at once.
    assert create_soon(built.plan, "saxpy") == (final, False)
    assert [container.decode(each).kernel_uuid for each in (found, final)] == [container.decode(found).kernel_uuid] * 2


def test_the_disk_keeps_both_and_gives_the_better_one(compiler: Compiler) -> None:
    first = create_soon(build(SAXPY).plan, "saxpy")
    assert create_soon(build(SAXPY).plan, "saxpy") == first
    status, _, better = improve("saxpy", question(SAXPY))
    assert status == SUCCESS
    assert create_soon(build(SAXPY).plan, "saxpy") == (better, False)
    assert stages(compiler) == [True, False]


def test_a_native_binary_has_the_final_code(compiler: Compiler) -> None:
    built = build(SAXPY)
    create_soon(built.plan, "saxpy")
    status, _, binary = native(built.plan)
    assert status == SUCCESS
    assert [code(each)[:4] for each in binaries.decode(binary).containers.values()] == [b"code"]


@pytest.mark.parametrize(("value", "told"), [("quick", [True]), ("final", [False])])
def test_either_stage_can_be_had_alone(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, value: str, told: list[bool]
) -> None:
    """With `quick` even where better code is on disk, and nobody is told to ask for it."""
    if value == "quick":
        improve("saxpy", question(SAXPY))
        compiler.calls.clear()
    monkeypatch.setenv("ANYZERO_STAGES", value)
    settings.cache_clear()
    _, provisional = create_soon(build(SAXPY).plan, "saxpy")
    assert not provisional
    assert stages(compiler) == told


@pytest.mark.parametrize("flags", ["-g", "-ze-opt-disable"])
def test_debuggers_and_the_lowest_level_get_one_stage(compiler: Compiler, flags: str) -> None:
    _, provisional = create_soon(build((SAXPY, flags, {})).plan, "saxpy")
    assert not provisional
    assert stages(compiler) == [False]


def test_linked_modules_get_one_stage(compiler: Compiler) -> None:
    """What they are linked with is nothing that another process knows."""
    user, given = build(importer()), build(exporter())
    assert link(user.plan, given.plan)[0] == SUCCESS
    _, provisional = create_soon(user.plan, "main")
    assert not provisional
    assert stages(compiler) == [False]


def test_code_for_groups_of_one_size_is_kept_beside_the_general_one(compiler: Compiler) -> None:
    general = improve("saxpy", question(SAXPY))[2]
    for _ in range(2):  # the second time from disk
        assert improve("saxpy", question(SAXPY), (8, 8, 1))[0] == SUCCESS
    improve("saxpy", question(SAXPY), (16, 16, 1))
    assert [call.options.group for call in compiler.calls if call.options.group] == [(8, 8, 1), (16, 16, 1)]
    assert improve("saxpy", question(SAXPY))[2] == general
