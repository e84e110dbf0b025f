"""Whatever the verifier accepts is translated."""

from __future__ import annotations

import pytest

from anyzero.compiler import translate
from anyzero.compiler.spirv import read, verify
from anyzero.compiler.spirv.rules.check import RULES
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.mem2reg import mem2reg
from anyzero.compiler.transform.show import show
from anyzero.compiler.translate.chapter import ENDINGS, TABLE
from tests.compiler.bodies import BODIES


def test_there_is_a_translation_for_every_rule() -> None:
    assert set(RULES) == set(TABLE) | set(ENDINGS) | {Op.FunctionCall}


@pytest.mark.parametrize("chapter", BODIES)
def test_a_chapter(chapter: str) -> None:
    found = read(BODIES[chapter].module)
    verify(found)
    assert found.functions
    for id_ in found.functions:
        made = translate.function(found, id_)
        check(made)
        mem2reg(made)
        check(made)
        assert show(made)
