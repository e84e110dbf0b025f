"""Image accesses of kernels that are compiled with checks: each has a check, which tells what becomes of its texels."""

from __future__ import annotations

import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Check, Op
from anyzero.compiler.pipeline import compile_kernel, form_after, simplified
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.texel_checks import check_texels
from anyzero.layouts.kernel import CheckedAccess, CheckFlag
from tests.compiler.agreement.cases import module_of
from tests.shape.tree import ROOT

MODULE = module_of(ROOT / "tests" / "checking" / "unwritten_images.spv")
LOAD, STORE = CheckedAccess.LOAD, CheckedAccess.STORE


def checked(kernel: str) -> list[tuple[Op, Check]]:
    """The accesses of a kernel in front of which a check stands, and the checks."""
    body = simplified(MODULE, kernel).body
    check_texels(body)
    check(body)
    found = []
    for block in body.blocks:
        for op, then in zip(block.ops, block.ops[1:], strict=False):
            if op.name == "check":
                assert op.info.access is then
                found.append((then, op.info))
    return found


@pytest.mark.parametrize(
    ("kernel", "kinds", "flags"),
    [
        ("right_copy", [LOAD, STORE], CheckFlag.MOVED),
        ("right_move_block", [LOAD, STORE], CheckFlag.MOVED | CheckFlag.ROWS),
        ("blends_rows", [LOAD], CheckFlag.MOVED | CheckFlag.BLENDS),
        ("of_a_new_image", [LOAD], CheckFlag.BLENDS),
        ("decides_a_branch", [LOAD], CheckFlag.BLENDS),
        ("is_an_index", [LOAD], 0),
        ("of_a_block", [LOAD], CheckFlag.ROWS),
    ],
)
def test_given_an_access_then_its_check_says_what_it_is(kernel: str, kinds: list[CheckedAccess], flags: int) -> None:
    found = checked(kernel)
    assert [each.kind for _, each in found] == kinds
    assert found[0][1].flags == flags


@pytest.mark.parametrize("name", ["memory", "races", "init"])
def test_given_a_kernel_with_images_alone_then_the_engine_follows_it(name: str) -> None:
    """A kernel that only writes an image has no note of an access, but the engine must know that it is watched."""
    options = Options(**{f"check_{name}": True})
    assert "check" in form_after(MODULE, "right_write", options, "texel-checks")
    made = compile_kernel(MODULE, "right_write", options)
    assert made.checked == (name == "memory")
    assert made.noted == (name != "memory")


def test_given_no_checks_then_there_are_none() -> None:
    assert "does not run" in form_after(MODULE, "right_write", Options(), "texel-checks")
    made = compile_kernel(MODULE, "right_write", Options())
    assert not made.checked
    assert not made.noted
