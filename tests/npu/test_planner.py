"""The graph planner: what becomes of a model's IR, without OpenVINO."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from anyzero import ze
from anyzero.driver import service
from anyzero.driver.graphs import requests
from anyzero.driver.graphs.ir import model as ir
from anyzero.wire import Writer
from anyzero.ze import npu
from tests.npu import planned
from tests.npu.planned import DATA, DYNAMIC, SHAPE, STATE, Planned, plan, refused, request
from tests.npu.planner_irs import (
    Net,
    addition,
    branching,
    constant,
    large,
    parameter,
    pointer,
    port,
    result,
    stateful,
    variable,
)
from tests.patience import PATIENCE

INPUT, OUTPUT = npu.ZE_GRAPH_ARGUMENT_TYPE_INPUT, npu.ZE_GRAPH_ARGUMENT_TYPE_OUTPUT
DAMAGED = ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
UNSUPPORTED = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
BAD_ARGUMENT = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def layers(answer: Planned) -> dict[int, ir.Layer]:
    return ir.read(answer.xml).net.layers


def edges(answer: Planned) -> set[tuple[int, int, int, int]]:
    return {tuple(edge) for edge in ir.read(answer.xml).net.edges}


def fed_by(answer: Planned, type_: str) -> list[str]:
    """The types of the layers that lead to layers of a type, in the order of those."""
    found = layers(answer)
    ends = {edge[2]: edge[0] for edge in edges(answer)}
    return [found[ends[id_]].type for id_, layer in found.items() if layer.type == type_]


def test_a_plain_model_is_described_and_left_alone() -> None:
    xml = addition(name="a &amp; b").xml()
    answer = plan(xml, weights_size=24)
    assert answer.xml == xml
    assert (answer.version, answer.weights_size, answer.name) == (1, 24, "a & b")
    assert (answer.pieces, answer.properties, answer.profiling, answer.log) == ([], {}, False, "")
    assert [(each.type, each.role, each.port, each.name) for each in answer.arguments] == [
        (INPUT, DATA, 0, "left"),
        (INPUT, DATA, 1, "right"),
        (OUTPUT, DATA, 0, "first"),
        (OUTPUT, DATA, 1, "second"),
    ]
    left = answer.arguments[0]
    assert left.precision == npu.ZE_GRAPH_ARGUMENT_PRECISION_FP32
    assert left.metadata_type == npu.ZE_GRAPH_METADATA_TYPE_F32
    assert left.layout == npu.ZE_GRAPH_ARGUMENT_LAYOUT_NC
    assert left.dims == left.shape == (2, 3)
    # A Result has the names of what feeds it, unless it has its own.
    assert [each.tensor_names for each in answer.of(OUTPUT)] == [("sum",), ("one", "t,wo")]


def test_arguments_come_in_the_order_of_the_text_whatever_the_ids() -> None:
    net = Net(
        [result(0, "second"), parameter(7, "b"), parameter(3, "a"), result(9, "first")], [(3, 0, 0, 0), (7, 0, 9, 0)]
    )
    assert [each.name for each in plan(net.xml()).arguments] == ["b", "a", "second", "first"]


def test_what_others_left_in_the_text_is_not_looked_at() -> None:
    decoy = "<layers><layer id='0' name='no' type='Parameter'/></layers><edges><edge/></edges><data/>"
    net = addition(tail=f"<rt_info>{decoy}</rt_info><meta_data>{decoy}</meta_data>")
    net.layers[2] = constant(2, 0, 24, inside=f"<rt_info>{decoy}</rt_info><!-- <data offset='1'/> -->")
    net.layers.insert(3, "<!-- <layer id='0'/> --><other><layer/></other><?pi <layer?>")
    xml = net.xml().replace(b"<dim>2</dim>", b"<dim><![CDATA[2]]></dim>")
    answer = plan(xml, weights_size=24)
    assert answer.xml == xml
    assert [each.dims for each in answer.arguments] == [(2, 3)] * 4


def test_bodies_have_layers_of_their_own() -> None:
    xml = branching().xml()
    answer = plan(xml, weights_size=24)
    assert answer.xml == xml
    assert [each.name for each in answer.arguments] == ["choice", "x", "out"]
    assert answer.arguments[0].dims == ()
    assert answer.arguments[0].precision == npu.ZE_GRAPH_ARGUMENT_PRECISION_BOOLEAN
    assert 'layer "constant_1" (Const) is 24 bytes at 1' in refused(branching(1).xml(), weights_size=24).log


def test_names_fit_and_differ() -> None:
    long = "ä" * 300
    names = [long, long, "vpux_ie_shape_x", "same", "same"]
    net = Net([parameter(id_, name) for id_, name in enumerate(names)], [])
    net.layers.append(result(9, "out"))
    net.edges = [(0, 0, 9, 0)]
    found = [each.name for each in plan(net.xml()).of(INPUT)]
    assert len(set(found)) == len(names)
    assert all(len(name.encode()) <= 236 for name in found)
    assert found[2:] == ["_vpux_ie_shape_x", "same", "same#2"]


def test_states_become_arguments() -> None:
    answer = plan(stateful().xml(), weights_size=24)
    assert [(each.type, each.role, each.port, each.name) for each in answer.arguments] == [
        (INPUT, DATA, 0, "x"),
        (INPUT, STATE, 1, "vpux_ie_read_value_total"),
        (OUTPUT, DATA, 0, "out"),
        (OUTPUT, STATE, 1, "vpux_ie_assign_total"),
    ]
    found = layers(answer)
    assert [(id_, found[id_].type) for id_ in list(found)[-2:]] == [(2, "Parameter"), (4, "Result")]
    # Nothing leads to what was a ReadValue, and the output comes from what the Assign was given.
    assert edges(answer) == {(2, 1, 3, 0), (0, 0, 3, 1), (3, 2, 4, 0), (3, 2, 5, 0)}


def test_a_variable_that_is_read_twice_is_one_argument() -> None:
    net = stateful()
    net.layers.insert(3, variable(7, "ReadValue", "total"))
    net.edges[2] = (7, 1, 3, 1)
    answer = plan(net.xml(), weights_size=24)
    assert len(answer.of(INPUT, STATE)) == 1
    assert {(2, 1, 3, 0), (2, 1, 3, 1)} <= edges(answer)
    assert 7 not in layers(answer)


def test_a_variable_that_is_never_assigned_to_stays_what_it_is() -> None:
    net = Net([variable(0, "ReadValue", "v"), result(1, "out")], [(0, 1, 1, 0)])
    answer = plan(net.xml())
    assert [each.name for each in answer.arguments] == ["vpux_ie_read_value_v", "out", "vpux_ie_assign_v"]
    assert fed_by(answer, "Result") == ["Parameter", "Parameter"]


def test_a_variable_that_is_never_read_is_an_argument_all_the_same() -> None:
    net = Net([parameter(0, "x"), variable(1, "Assign", "v")], [(0, 0, 1, 0)])
    answer = plan(net.xml())
    assert [each.name for each in answer.arguments] == ["x", "vpux_ie_read_value_v", "vpux_ie_assign_v"]
    assert [layer.type for layer in layers(answer).values()][:3] == ["Parameter", "Parameter", "Result"]
    assert fed_by(answer, "Result") == ["Parameter"]


def test_bounded_shapes_have_an_argument_for_the_shape() -> None:
    net = Net([parameter(0, "x", "1..4,3,..8"), result(1, "out", (-1, 3, -1))], [(0, 0, 1, 0)])
    answer = plan(net.xml())
    assert [(each.type, each.role, each.port) for each in answer.arguments] == [
        (INPUT, DATA, 0),
        (INPUT, SHAPE, 0),
        (OUTPUT, DATA, 0),
        (OUTPUT, SHAPE, 2),
    ]
    given, shape, taken, _ = answer.arguments
    assert (given.dims, given.shape) == ((4, 3, 8), (DYNAMIC, 3, DYNAMIC))
    # OpenVINO infers the bounds of an output, once it has the weights.
    assert (taken.dims, taken.shape) == ((0, 3, 0), (DYNAMIC, 3, DYNAMIC))
    assert (shape.name, shape.dims, shape.precision) == (
        "vpux_ie_shape_x",
        (3,),
        npu.ZE_GRAPH_ARGUMENT_PRECISION_INT32,
    )


def test_pointed_constants_get_a_place() -> None:
    net = addition()
    net.layers[2] = constant(2, 0, 0, inside=pointer(4096, 24))
    net.layers += [constant(7, 0, 0, inside=pointer(8192, 24)), constant(8, 0, 0, inside=pointer(4096, 24))]
    net.layers += [constant(9, 8, 24), constant(10, 0, 0, shape="0,3")]
    answer = plan(net.xml(), serializer=2, weights_size=100)
    # Behind what came with the model, which stays where it is.
    assert answer.pieces == [(4096, 24, 128), (8192, 24, 192)]
    assert answer.weights_size == 216
    found = layers(answer)
    places = {id_: ((found[id_].data or {})["offset"], (found[id_].data or {})["size"]) for id_ in (2, 7, 8, 9, 10)}
    assert places == {2: ("128", "24"), 7: ("192", "24"), 8: ("128", "24"), 9: ("8", "24"), 10: ("0", "0")}
    wanted = net.xml()
    for address, offset in ((4096, 128), (8192, 192)):
        said = pointer(address, 24)
        kept = said[: said.index("<attribute", 20)] + "</rt_info>"
        wanted = wanted.replace(
            f'<data element_type="f32" shape="2,3" offset="0" size="0"/>{said}'.encode(),
            f'<data element_type="f32" shape="2,3" offset="{offset}" size="24" />{kept}'.encode(),
        )
    assert answer.xml == wanted


def test_a_pointer_may_be_written_in_any_way() -> None:
    """With a separate closing tag, alone or between others, before or after the rest of the layer."""
    place = 'name="WeightsPointerAttribute" version="0" mp="4096" ms="24"'
    for inside, left in (
        (f"<rt_info><attribute {place}/></rt_info>", "<rt_info></rt_info>"),
        (f"<rt_info>\n<attribute {place} ></attribute>\n</rt_info>", "<rt_info>\n\n</rt_info>"),
        (f"<rt_info><attribute {place}/><attribute name='>'/></rt_info>", "<rt_info><attribute name='>'/></rt_info>"),
        (f"<!--/>--><rt_info><attribute name='a>'/><attribute {place}/> </rt_info>",
         "<!--/>--><rt_info><attribute name='a>'/> </rt_info>"),
    ):  # fmt: skip
        net = addition()
        net.layers[2] = constant(2, 0, 0, inside=inside)
        before = 'offset="0" size="0"/>' + inside
        after = 'offset="0" size="24" />' + left
        assert plan(net.xml(), serializer=2).xml == net.xml().replace(before.encode(), after.encode())


def test_the_rest_of_a_changed_model_stays_as_it_is() -> None:
    xml = addition().xml()
    answer = plan(xml, '--inputs_precisions="1:U8"', weights_size=24)
    first, rest = xml.split(parameter(1, "right").encode())
    assert answer.xml.startswith(first + b'<layer id="1" name="right" type="Parameter" version="opset1"><data ')
    kept = rest[: rest.index(b"\n</layers>")]
    assert kept in answer.xml
    assert answer.xml.endswith(xml[xml.index(b"</edges>") :])


def test_layers_without_contents_are_layers() -> None:
    net = addition()
    net.layers.insert(1, '<layer id="70" name="empty" type="Nothing" version="opset1"/>')
    net.layers.append("<layer id='71' name='fed' type='Result'/>")
    net.edges.append((70, 0, 71, 0))
    assert 'port 0 of the layer "empty" (Nothing), which has no such output' in refused(net.xml(), weights_size=24).log


def test_precisions_and_layouts_change_the_boundary() -> None:
    flags = '--inputs_precisions="0:U8 right:FP16" --outputs_layouts="0:CN" --outputs_precisions="1:I64"'
    answer = plan(addition().xml(), flags, weights_size=24)
    assert [each.precision for each in answer.arguments] == [
        npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT8,
        npu.ZE_GRAPH_ARGUMENT_PRECISION_FP16,
        npu.ZE_GRAPH_ARGUMENT_PRECISION_FP32,
        npu.ZE_GRAPH_ARGUMENT_PRECISION_INT64,
    ]
    assert answer.of(OUTPUT)[0].dims == (3, 2)
    assert answer.of(OUTPUT)[0].layout == npu.ZE_GRAPH_ARGUMENT_LAYOUT_CN
    types = [layer.type for layer in layers(answer).values()]
    assert types[7:] == ["Convert", "Convert", "Einsum", "Convert"]
    assert len({end[2:] for end in edges(answer)}) == len(edges(answer)) == 10


def test_flags_that_ask_for_what_is_there_change_nothing() -> None:
    xml = addition().xml()
    flags = (
        '--inputs_precisions="0:FP32 1:FP32" --inputs_layouts="0:NC 1:NC" --outputs_precisions="0:FP32 1:FP32" '
        '--outputs_layouts="0:NC 1:NC" --config NPU_MAX_TILES="2" NPU_PLATFORM="3720" '
    )
    assert plan(xml, flags, weights_size=24).xml == xml


def test_requests_that_are_not_understood_are_refused() -> None:
    whole = request(addition().xml(), weights_size=24)
    for bad in (b"", whole[:-1], whole + b"x", Writer().u32(1).done()):
        answer = planned.read(requests.manifest(bad))
        assert not isinstance(answer, Planned)
        assert answer.status == BAD_ARGUMENT
    assert refused(addition().xml(), serializer=3, weights_size=24).status == BAD_ARGUMENT


def test_plans_of_modules_that_are_gone_may_come_along() -> None:
    whole = request(addition().xml(), weights_size=24)
    released = Writer().u32(2).u64(1 << 60, 1 << 61).done() + whole[4:]
    assert isinstance(planned.read(requests.manifest(released)), Planned)


def test_the_planning_process_knows_the_function_by_its_name() -> None:
    whole = request(addition().xml(), weights_size=24)
    assert service._call("graphs.manifest", whole) == requests.manifest(whole)
    for wrong in (
        "manifest",
        "graphs.Reader",
        "graphs.ir",
        "graphs.",
        "modules.build",
        "os.getcwd",
        "graphs.manifest.x",
        ".",
    ):
        with pytest.raises(ValueError, match="no function"):
            service._call(wrong, whole)


def test_a_large_model_is_planned_quickly() -> None:
    xml = large(5000).xml()
    taken = []
    for _ in range(3):
        start = time.process_time()
        answer = plan(xml, weights_size=256)
        taken.append(time.process_time() - start)
    assert answer.xml == xml
    # A third of this on a machine that does nothing else.
    assert min(taken) < 0.3


def test_importing_it_is_cheap() -> None:
    program = (
        "import sys, anyzero.driver.graphs.requests; "
        "print(*sorted({'numpy', 'openvino', 'llvmlite', 'ctypes', 'anyzero.compiler'} & sys.modules.keys()))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert found.stdout.split() == []


def test_the_ports_of_a_result_are_told_by_what_feeds_it() -> None:
    split = (
        f'<layer id="1" name="split" type="Split" version="opset1"><input>{port(0, (2, 3))}</input>'
        f"<output>{port(1, (1, 3), names='upper')}{port(2, (1, 3), 'I32', 'lower')}</output></layer>"
    )
    net = Net([parameter(0, "x"), split, result(2, "out")], [(0, 0, 1, 0), (1, 2, 2, 0)])
    [out] = plan(net.xml()).of(OUTPUT)
    assert (out.dims, out.precision, out.tensor_names) == ((1, 3), npu.ZE_GRAPH_ARGUMENT_PRECISION_INT32, ("lower",))
