"""The planner of weightless graphs: which constants leave a model, and what the graphs of one model are."""

from __future__ import annotations

import re

import pytest

from anyzero import ze
from anyzero.driver.graphs import requests
from anyzero.driver.graphs.ir import weightless
from anyzero.wire import Writer
from tests.npu import planned
from tests.npu.planned import DATA, WEIGHTS, Planned, Refused
from tests.npu.planner_irs import Net, constant, operation, parameter, pointer, result

INPUT, OUTPUT = 0, 1
ALONE = '--config ENABLE_WEIGHTLESS="YES"'


def call(number: int) -> str:
    return f'{ALONE} WS_COMPILE_CALL_NUMBER="{number}"'


def told(*facts: tuple[int, int, str]) -> str:
    """The attributes that OpenVINO's plugin writes for each constant: file offset, size and type."""
    return (
        "<rt_info>"
        + "".join(
            f'<ws_bin_offset_{i} value="{offset}" /><ws_original_size_{i} value="{size}" />'
            f'<ws_original_dtype_{i} value="{dtype}" />'
            for i, (offset, size, dtype) in enumerate(facts)
        )
        + "</rt_info>"
    )


def chain(*constants: str, tail: str = "<rt_info/>") -> bytes:
    """Adds constants, whose ids are 1, 2, …, to its input in sequence."""
    count = len(constants)
    layers = [parameter(0, "x"), *constants]
    layers += [operation(10 + i, "Add", inputs=2) for i in range(count)]
    edges = [
        edge for i in range(count) for edge in ((9 + i if i else 0, 2 if i else 0, 10 + i, 0), (1 + i, 0, 10 + i, 1))
    ]
    return Net([*layers, result(99, "y")], [*edges, (9 + count, 2, 99, 0)], tail=tail).xml()


def plan(xml: bytes, flags: str = ALONE, **others: int) -> Planned:
    answer = planned.ask(xml, flags, **others)
    assert isinstance(answer, Planned), answer
    return answer


def places(found: Planned) -> list[tuple[int, int]]:
    data = re.findall(rb"<data ([^>]*offset=[^>]*)>", found.xml)
    return [tuple(int(re.search(rb'%s="(\d+)"' % key, each)[1]) for key in (b"offset", b"size")) for each in data]  # type: ignore[misc, index]


def test_constants_are_arguments_behind_the_inputs() -> None:
    found = plan(chain(constant(1, 0, 24), constant(2, 24, 24)), weights_size=48)
    assert [(each.name, each.role) for each in found.arguments] == [
        ("x", DATA),
        ("vpux_tw_0", WEIGHTS),
        ("vpux_tw_24", WEIGHTS),
        ("y", DATA),
    ]
    assert [each.friendly_name for each in found.of(INPUT, WEIGHTS)] == ["constant_1", "constant_2"]
    assert [each.dims for each in found.of(INPUT, WEIGHTS)] == [(2, 3), (2, 3)]
    assert (found.pieces, found.weights_size, places(found)) == ([], 0, [(0, 24), (64, 24)])


def test_small_ones_and_those_of_shapes_stay() -> None:
    xml = chain(
        constant(1, 0, 4, ""),
        constant(2, 4, 24),
        constant(3, 28, 24, "3", type_="i64"),
        constant(4, 52, 4096, "512", type_="i64"),
    )
    found = plan(xml, weights_size=4148)
    assert [each.name for each in found.of(INPUT, WEIGHTS)] == ["vpux_tw_4", "vpux_tw_52"]
    # Those that stay are copied together, at the beginning.
    assert found.pieces == [(0, 4, 0), (28, 24, 64)]
    assert found.weights_size == 88
    assert places(found) == [(0, 4), (128, 24), (64, 24), (192, 4096)]


def test_one_that_two_layers_share_is_one_argument() -> None:
    found = plan(chain(constant(1, 8, 24), constant(2, 8, 24)), weights_size=32)
    assert [each.name for each in found.of(INPUT, WEIGHTS)] == ["vpux_tw_8"]
    assert places(found) == [(0, 24), (0, 24)]
    overlapping = plan(chain(constant(1, 8, 24), constant(2, 8, 32)), weights_size=40)
    assert overlapping.of(INPUT, WEIGHTS) == []
    assert overlapping.arguments == plan(chain(constant(1, 8, 24), constant(2, 8, 32)), "", weights_size=40).arguments


def test_what_no_argument_can_be_is_bytes() -> None:
    xml = chain(constant(1, 0, 32, "8,8", type_="u4"), constant(2, 32, 256, "1,1,1,1,8,8"))
    found = plan(xml, weights_size=288)
    assert [(each.dims, each.element_type) for each in found.of(INPUT, WEIGHTS)] == [((32,), 16), ((256,), 16)]


class TestNumbered:
    XML = chain(
        constant(1, 0, 0, inside=pointer(4096, 24)),
        constant(2, 0, 0, inside=pointer(8192, 24)),
        constant(3, 0, 0, inside=pointer(12288, 24)),
        tail=told((1000, 24, "f32"), (2000, 12, "f16"), (3000, 24, "f32")),
    )
    """The second one differs between file and model."""

    def test_first_a_graph_that_copies_and_then_the_model(self) -> None:
        first = plan(self.XML, call(0), serializer=2)
        assert [each.name for each in first.of(INPUT)] == ["vpux_ow_1000", "vpux_ow_3000"]
        assert [each.name for each in first.of(OUTPUT)] == ["vpux_tw_1000", "vpux_tw_3000"]
        assert (first.pieces, first.weights_size) == ([], 0)
        second = plan(self.XML, call(1), serializer=2)
        assert [each.name for each in second.of(INPUT, WEIGHTS)] == ["vpux_tw_1000", "vpux_tw_3000"]
        assert second.pieces == [(8192, 24, 0)]
        assert places(second) == [(64, 24), (0, 24), (128, 24)]
        assert b"WeightsPointerAttribute" not in second.xml
        third = planned.ask(self.XML, call(2), serializer=2)
        assert isinstance(third, Refused)
        assert third.status == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        assert "the model has 2 graphs" in third.log

    def test_many_weights_come_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(weightless, "PART_BYTES", 24)
        parts = [plan(self.XML, call(number), serializer=2) for number in range(3)]
        assert [[each.name for each in part.of(INPUT)] for part in parts[:2]] == [["vpux_ow_1000"], ["vpux_ow_3000"]]
        assert [each.name for each in parts[2].of(INPUT, WEIGHTS)] == ["vpux_tw_1000", "vpux_tw_3000"]

    def test_a_model_of_nobodys_file_keeps_its_weights(self) -> None:
        found = plan(chain(constant(1, 0, 24)), call(0), weights_size=24)
        assert [each.role for each in found.arguments] == [DATA, DATA]
        assert (found.weights_size, places(found)) == (24, [(0, 24)])

    @pytest.mark.parametrize("facts", ['<ws_bin_offset_0 value="7" />', '<ws_bin_offset_0 value="x" />' * 3, ""])
    def test_half_a_word_is_none(self, facts: str) -> None:
        xml = chain(constant(1, 0, 24), tail=f"<rt_info>{facts}</rt_info>")
        assert plan(xml, call(0), weights_size=24).of(INPUT, WEIGHTS) == []


def test_a_query_is_about_the_whole_model() -> None:
    xml = chain(constant(1, 0, 24))
    request = Writer().u32(0).text(call(0)).u32(1, 0).u64(24).blob(xml).done()
    answer = planned.read(requests.manifest(request))
    assert isinstance(answer, Planned)
    assert answer.weights_size == 24
    assert answer.xml == xml
