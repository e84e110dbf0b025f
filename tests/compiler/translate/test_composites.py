"""Vectors, arrays and structures: parts are moved, hardly anything is computed."""

from __future__ import annotations

import pytest

from tests.compiler.samples import function
from tests.compiler.translate.programs import body_of, names, run

STRUCT = "%struct = OpTypeStruct %v2i32 %i32\n%array = OpTypeArray %struct %c2\n%v4 = OpTypeVector %i32 4"


def in_function(body: str, parameters: str, result: str) -> str:
    return function(body, parameters=parameters, result=result, declarations=STRUCT)


def test_construct_extract_insert_shuffle() -> None:
    text = in_function(
        """
        %a = OpCompositeConstruct %struct %p0 %p1
        %b = OpCompositeInsert %struct %c7 %a 0 1
        %both = OpCompositeConstruct %array %a %b
        %x = OpCompositeExtract %v2i32 %both 1 0
        %y = OpCompositeExtract %i32 %both 0 1
        %m = OpVectorShuffle %v4 %x %p0 3 1 0xFFFFFFFF 0
        %n = OpCompositeConstruct %v4 %x %y %c3
        %s = OpIAdd %v4 %m %n
        OpReturnValue %s
        """,
        "%v2i32 %i32",
        "v4",
    )
    assert run(text, 10, 20, 30) == [20 + 10, 7 + 7, 30, 10 + 3]
    assert set(names(body_of(text))) == {"parameter", "add", "result", "undef"}


@pytest.mark.parametrize("index", range(4))
def test_components_by_an_index_that_is_a_value(index: int) -> None:
    text = in_function(
        """
        %v = OpVectorInsertDynamic %v4 %p0 %c7 %p1
        %e = OpVectorExtractDynamic %i32 %v %p2
        OpReturnValue %e
        """,
        "%v4 %i32 %i64",
        "i32",
    )
    values = [1, 2, 3, 4]
    assert run(text, *values, index, 2) == [7 if index == 2 else 3]
    assert run(text, *values, 0, index) == [7 if index == 0 else values[index]]


def test_values_that_pass_unchanged() -> None:
    text = in_function(
        """
        %a = OpCopyObject %struct %p0
        %b = OpFreezeKHR %struct %a
        %c = OpCompositeExtract %i32 %b 1
        %d = OpExpectKHR %i32 %c %c1
        %e = OpSelect %struct %p1 %b %p0
        OpAssumeTrueKHR %p1
        OpReturnValue %e
        """,
        "%struct %bool",
        "struct",
    )
    assert run(text, 1, 2, 3, 0) == [1, 2, 3]
    assert names(body_of(text)) == ["parameter"] * 3 + ["result"]


def test_a_choice_of_components() -> None:
    text = in_function(
        """
        %less = OpULessThan %pair %p0 %p1
        %r = OpSelect %v2i32 %less %p0 %p1
        OpReturnValue %r
        """,
        "%v2i32 %v2i32",
        "v2i32",
    ).replace("%main_type =", "%pair = OpTypeVector %bool 2\n%main_type =")
    assert run(text, 5, 1, 3, 9) == [3, 1]
