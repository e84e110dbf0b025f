"""Whatever comes, the graph planner answers: a plan that can be read, or a refusal with a text."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from anyzero import ze
from anyzero.driver.graphs import requests
from anyzero.driver.graphs.ir import model as ir
from tests.npu.planned import Planned, ask, read, request
from tests.npu.planner_irs import Net, addition, branching, constant, parameter, pointer, result, stateful

ALLOWED = {
    ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
    ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
    ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
}


def pointed() -> Net:
    net = addition()
    net.layers[2] = constant(2, 0, 0, inside=pointer(4096, 24))
    return net


def bounded() -> Net:
    return Net([parameter(0, "x", "1..4,3"), result(1, "out", (-1, 3))], [(0, 0, 1, 0)])


SEEDS = [net().xml() for net in (addition, stateful, branching, pointed, bounded)]
# Delimiters of values, names and elements.
PLACES = [sorted({at for found in re.finditer(rb'"[^"]*"|<[^>]*>', seed) for at in found.span()}) for seed in SEEDS]
PIECES = [
    *(b'"0"', b'"1"', b'"-1"', b'"99"', b'"18446744073709551615"', b'"36893488147419103232"', b'""', b'"?"', b'"x"'),
    *(b"Parameter", b"Result", b"Const", b"ReadValue", b"Assign", b"string", b"u1", b"1..", b"..4", b"...", b"NHWC"),
    *(b"<layers>", b"</layers>", b"<layer>", b"</layer>", b"<edges/>", b"<data/>", b"<body>", b"</body>", b"<rt_info>"),
    *(b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?x", b"?>", b"<!DOCTYPE x>", b"&lt;", b"&x;", b"&#0;", b"\xff", b"\0"),
    *(b" ", b"\n", b'"', b"'", b">", b"<", b"/", b"="),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """An IR of which some parts are missing, moved, doubled or replaced."""
    number = draw(st.integers(0, len(SEEDS) - 1))
    xml, places = SEEDS[number], PLACES[number]
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted((draw(st.sampled_from(places)), draw(st.sampled_from(places))))
        other = draw(st.sampled_from(places))
        piece = draw(
            st.sampled_from(PIECES) | st.just(b"") | st.just(xml[start:end]) | st.just(xml[other : other + 40])
        )
        near = draw(st.booleans())
        xml = xml[:start] + piece + xml[start + draw(st.integers(0, 8)) if near else end :]
    return xml


FLAGS = st.lists(
    st.sampled_from(
        [
            *(
                '--inputs_precisions="',
                '--outputs_precisions="',
                '--inputs_layouts="',
                '--outputs_layouts="',
                "--config ",
            ),
            *(
                "0:",
                "1:",
                "2:",
                "x:",
                "left:",
                "FP32",
                "U8",
                "I64",
                "BOOL",
                "NC",
                "CN",
                "NHWC",
                "C",
                "**SCALAR**",
                "ANY",
            ),
            *('" ', '"', " ", "=", "--", "--x", "PERF_COUNT=", '"YES"', "NPU_X=", "\0", "\n", "é", "\ud800"),
        ]
    ),
    max_size=12,
).map("".join)


def check(xml: bytes, flags: str = "", serializer: int = 1) -> None:
    answer = read(requests.manifest(request(xml, flags, serializer, 100)))
    if isinstance(answer, Planned):
        # The result is an IR again, and planning it changes nothing.
        again = ir.read(answer.xml)
        names = [each.name for each in answer.arguments]
        assert len(names) == len(set(zip(names, (each.type for each in answer.arguments), strict=True)))
        assert len(again.net.of_type("Parameter", "Result")) == sum(each.role != 2 for each in answer.arguments)
        assert again.net.of_type("ReadValue", "Assign") == []
        assert all(offset + size <= answer.weights_size for _, size, offset in answer.pieces)
    else:
        assert answer.status in ALLOWED, answer.log
        assert answer.log.startswith(("error: ", "the request is invalid"))


@settings(max_examples=400, deadline=None)
@given(mutated(), st.sampled_from([1, 1, 1, 2]))
def test_mutated_models(xml: bytes, serializer: int) -> None:
    check(xml, serializer=serializer)


@settings(max_examples=300, deadline=None)
@given(FLAGS, st.sampled_from(SEEDS[:3]))
def test_random_flags(flags: str, xml: bytes) -> None:
    check(xml, flags)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes(data: bytes) -> None:
    check(data)
    assert not isinstance(read(requests.manifest(data)), Planned)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_requests(data: st.DataObject) -> None:
    whole = bytearray(request(SEEDS[0], "--config", 1, 100))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, 40))] = data.draw(st.integers(0, 255))
    read(requests.manifest(bytes(whole)))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 8)] * 4), max_size=12))
def test_random_edges(edges: list[tuple[int, int, int, int]]) -> None:
    net = stateful()
    net.edges = edges
    check(net.xml())


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=0, max_size=40), st.text(max_size=40))
def test_any_name(first: str, second: str) -> None:
    """A name that XML can represent is preserved; any other is refused."""
    net = Net([parameter(0, "@0@"), parameter(1, "@1@"), result(2, "out")], [(0, 0, 2, 0)])
    spelled = ["".join(f"&#{ord(char)};" if char in '<&"\n\r\t' else char for char in name) for name in (first, second)]
    text = net.xml().decode()
    for number, name in enumerate(spelled):
        text = text.replace(f'name="@{number}@"', f'name="{name}"')
    answer = ask(text.encode("utf-8", "surrogatepass"), "", 1, 0)
    if isinstance(answer, Planned):
        assert [each.friendly_name for each in answer.of(0)] == [first, second]
        assert answer.of(0)[0].name != answer.of(0)[1].name
