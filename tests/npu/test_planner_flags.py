"""Build flags of a graph: what clients send, and what they might."""

from __future__ import annotations

import pytest

from anyzero import ze
from anyzero.driver.graphs import configuration
from anyzero.driver.graphs import flags as build_flags
from anyzero.ze import npu
from tests.npu.planned import plan, refused
from tests.npu.planner_irs import Net, addition, operation, parameter, result

CAPTURED = (
    '--inputs_precisions="0:FP32 1:FP32" --inputs_layouts="0:NC 1:NC" --outputs_precisions="0:FP32 1:FP32" '
    '--outputs_layouts="0:NC 1:NC" --config NPU_MAX_TILES="2" NPU_STEPPING="3" NPU_BATCH_MODE="COMPILER" '
    'NPU_PLATFORM="3720" '
)


def negative(*shapes: str) -> bytes:
    """An output for every input, of the same shape."""
    made, edges = [], []
    for id_, shape in enumerate(shapes):
        dims = [int(dim) for dim in shape.split(",")] if shape else []
        made += [parameter(id_, f"in_{id_}", shape), operation(10 + id_, "Negative", dims=dims)]
        made.append(result(20 + id_, f"out_{id_}", dims))
        edges += [(id_, 0, 10 + id_, 0), (10 + id_, 1, 20 + id_, 0)]
    return Net(made, edges).xml()


def test_what_the_plugin_sends() -> None:
    flags = build_flags.parse(CAPTURED)
    assert flags.remarks == []
    assert flags.lists["inputs_layouts"] == {"0": "NC", "1": "NC"}
    assert flags.config == {
        "NPU_MAX_TILES": "2",
        "NPU_STEPPING": "3",
        "NPU_BATCH_MODE": "COMPILER",
        "NPU_PLATFORM": "3720",
    }
    assert plan(addition().xml(), CAPTURED, weights_size=24).log == ""


def test_layouts_of_every_rank() -> None:
    shapes = ["", "2", "2,3", "2,3,4", "2,3,4,5", "2,3,4,5,6"]
    usual = ["**SCALAR**", "C", "NC", "CHW", "NCHW", "NCDHW"]
    xml = negative(*shapes)
    flags = f'--inputs_layouts="{" ".join(f"{index}:{name}" for index, name in enumerate(usual))}"'
    answer = plan(xml, flags)
    assert answer.xml == xml
    wanted = [
        npu.ZE_GRAPH_ARGUMENT_LAYOUT_ANY,
        npu.ZE_GRAPH_ARGUMENT_LAYOUT_C,
        npu.ZE_GRAPH_ARGUMENT_LAYOUT_NC,
        npu.ZE_GRAPH_ARGUMENT_LAYOUT_CHW,
        npu.ZE_GRAPH_ARGUMENT_LAYOUT_NCHW,
        npu.ZE_GRAPH_ARGUMENT_LAYOUT_NCDHW,
    ]
    assert [each.layout for each in answer.of(0)] == [each.layout for each in answer.of(1)] == wanted


@pytest.mark.parametrize(
    ("shape", "layout", "dims"),
    [
        ("2,3,4,5", "NHWC", (2, 4, 5, 3)),
        ("2,3,4,5,6", "NDHWC", (2, 4, 5, 6, 3)),
        ("2,3,4", "HWC", (3, 4, 2)),
        ("2,3", "CN", (3, 2)),
        # Letters of another meaning: nothing to turn.
        ("2,3", "HW", (2, 3)),
        ("2,3,4,5", "OIHW", (2, 3, 4, 5)),
        ("2,3,4,5", "BLOCKED", (2, 3, 4, 5)),
        ("2,3,4,5", "ANY", (2, 3, 4, 5)),
    ],
)
def test_other_layouts_turn_the_dimensions(shape: str, layout: str, dims: tuple[int, ...]) -> None:
    xml = negative(shape)
    for side, flag in enumerate(("inputs", "outputs")):
        answer = plan(xml, f'--{flag}_layouts="0:{layout}"')
        assert answer.arguments[side].dims == answer.arguments[side].shape == dims
        assert answer.arguments[1 - side].dims == tuple(map(int, shape.split(",")))
        assert (b'type="Einsum"' in answer.xml) == (answer.xml != xml) == (dims != answer.arguments[1 - side].dims)


def test_arguments_are_named_by_index_layer_or_tensor() -> None:
    xml = addition().xml()
    for key in ("1", "second", "t,wo", "one"):
        assert plan(xml, f'--outputs_precisions="{key}:FP16"', weights_size=24).of(1)[1].precision == 2
    assert plan(xml, "--inputs_precisions=1:FP16", weights_size=24).of(0)[1].precision == 2


def test_names_may_hold_blanks_and_colons() -> None:
    net = Net([parameter(0, "a b:c"), parameter(1, "d"), result(2, "out")], [(0, 0, 2, 0)])
    answer = plan(net.xml(), '--inputs_precisions="a b:c:U8 d:I8"')
    assert [each.precision for each in answer.of(0)] == [
        npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT8,
        npu.ZE_GRAPH_ARGUMENT_PRECISION_INT8,
    ]


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ('--inputs_precisions="7:FP32"', "names 7, and the model has 2 inputs"),
        ('--inputs_precisions="nobody:FP32"', "nobody"),
        ('--inputs_precisions="0:FP33"', "FP33"),
        ('--inputs_precisions="0:STRING"', "STRING"),
        ('--inputs_precisions="0"', "index:value"),
        ('--inputs_precisions="0:', "not closed"),
        ('--outputs_layouts="0:NCHW"', "2 dimensions, and the layout NCHW has 4"),
        ('--outputs_layouts="0:XY"', "there is no layout XY"),
        ("--config " + "A" * (1 << 20), "characters"),
    ],
)
def test_flags_that_cannot_be_followed_are_refused(flags: str, text: str) -> None:
    answer = refused(addition().xml(), flags, weights_size=24)
    assert answer.status == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert answer.log.startswith("error: build flags: ")
    assert text in answer.log


def test_flags_of_other_compilers_are_remarked_on() -> None:
    answer = plan(addition().xml(), '--frob="1 2" what --config A="1" B=2 --x', weights_size=24)
    assert [line.split(" is not")[0] for line in answer.log.splitlines()] == [
        "warning: the build flag --frob",
        "warning: what in the build flags",
        "warning: the build flag --x",
        "warning: the configuration key A",
        "warning: the configuration key B",
    ]


def test_configuration_for_the_processor() -> None:
    flags = (
        '--config PERF_COUNT="YES" PERFORMANCE_HINT="LATENCY" PERFORMANCE_HINT_NUM_REQUESTS="4" '
        'EXECUTION_MODE_HINT="ACCURACY" INFERENCE_PRECISION_HINT="f16" COMPILATION_NUM_THREADS="3" '
        'LOG_LEVEL="LOG_NONE" NPU_COMPILATION_MODE_PARAMS="optimization-level=2 performance-hint-override=latency" '
    )
    answer = plan(addition().xml(), flags, weights_size=24)
    assert answer.log == ""
    assert answer.profiling
    assert answer.properties == {
        "PERF_COUNT": "YES",
        "PERFORMANCE_HINT": "LATENCY",
        "PERFORMANCE_HINT_NUM_REQUESTS": "4",
        "EXECUTION_MODE_HINT": "ACCURACY",
    }


@pytest.mark.parametrize(
    ("config", "properties", "remarks"),
    [
        ({"PERF_COUNT": "NO"}, {}, 0),
        ({"PERF_COUNT": "true"}, {"PERF_COUNT": "YES"}, 0),
        ({"PERFORMANCE_HINT": "FASTEST"}, {}, 1),
        ({"PERFORMANCE_HINT": ""}, {}, 0),
        ({"PERFORMANCE_HINT": "CUMULATIVE_THROUGHPUT"}, {"PERFORMANCE_HINT": "CUMULATIVE_THROUGHPUT"}, 0),
        ({"PERFORMANCE_HINT_NUM_REQUESTS": "-1"}, {}, 1),
        ({"PERFORMANCE_HINT_NUM_REQUESTS": "99999999999"}, {}, 1),
        ({"EXECUTION_MODE_HINT": "PERFORMANCE"}, {"EXECUTION_MODE_HINT": "PERFORMANCE"}, 0),
        ({"NPU_ANYTHING": "x"}, {}, 0),
        ({"CACHE_DIR": "/x"}, {}, 1),
    ],
)
def test_what_the_processor_would_choke_on_is_left_out(
    config: dict[str, str], properties: dict[str, str], remarks: int
) -> None:
    said: list[str] = []
    assert configuration.properties(config, said) == properties
    assert len(said) == remarks
