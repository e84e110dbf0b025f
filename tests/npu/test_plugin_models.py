"""The inference plugin: every model, on both pipelines, in all the ways in which models come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openvino", reason="NOT TESTED: the inference plugin needs OpenVINO; pip install openvino")

import openvino as ov

import anyzero as az
from anyzero.npu import Core
from tests.npu import models
from tests.patience import PATIENCE

Array = np.ndarray[Any, Any]
PIPELINES = {
    "integrated": {"NPU_PIPELINE": "INTEGRATED"},
    "events": {"NPU_PIPELINE": "INTEGRATED", "NPU_SYNC": "EVENT"},
    "discrete": {"NPU_PIPELINE": "DISCRETE"},
}


@pytest.fixture(scope="module")
def core() -> Core:
    made = Core()
    # Tests must not find what others left behind.
    made.set_property({"NPU_BYPASS_UMD_CACHING": True})
    return made


@pytest.mark.parametrize("name", [case.name for case in models.CASES])
def test_models_give_what_the_cpu_device_gives(core: Core, name: str) -> None:
    """On each pipeline, with separate inputs and repeatedly."""
    case = models.case(name)
    found: dict[str, list[Array]] = {}
    for pipeline, config in PIPELINES.items():
        request = core.compile_model(case.build(), config).create_infer_request()
        for seed in range(2):
            inputs = case.inputs(seed)
            results = list(request.infer(inputs).to_tuple())
            case.check(results, inputs)
        found[pipeline] = results
    for results in found.values():
        for ours, theirs in zip(results, found["integrated"], strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_the_device_chooses_the_pipeline(core: Core) -> None:
    compiled = core.compile_model(models.tiny())
    assert core.device.integrated
    assert compiled.get_property("NPU_PIPELINE") == "INTEGRATED"
    assert core.compile_model(models.tiny(), PIPELINES["discrete"]).get_property("NPU_PIPELINE") == "DISCRETE"


def test_ports_are_those_of_the_model(core: Core) -> None:
    model = models.outputs()
    compiled = core.compile_model(model)
    for ours, theirs in zip((*compiled.inputs, *compiled.outputs), (*model.inputs, *model.outputs), strict=True):
        assert ours.names == theirs.get_names()
        assert ours.shape == tuple(theirs.get_shape())
        assert ours.element_type == theirs.get_element_type()
        assert ours.element_type.to_dtype() == theirs.get_element_type().to_dtype()
    assert compiled.input("y") is compiled.inputs[1]
    assert compiled.output("mean") is compiled.output(2)
    for wrong in (3, "nothing"):
        with pytest.raises(az.InvalidArgument):
            compiled.output(wrong)


@pytest.mark.parametrize("pipeline", ["integrated", "discrete"])
def test_a_batch_is_taken_apart(core: Core, pipeline: str) -> None:
    """Four items are four runs of a graph for one, and the results are the same."""
    case = models.case("batched")
    compiled = core.compile_model(case.build(), {**PIPELINES[pipeline], "NPU_BATCH_MODE": "PLUGIN"})
    assert compiled.get_property("NPU_BATCH") == 4
    assert compiled.graph.inputs[0].bounds == (1, 3, 8, 8)
    assert compiled.inputs[0].shape == (4, 3, 8, 8)
    request = compiled.create_infer_request()
    for seed in range(2):
        inputs = case.inputs(seed)
        case.check(list(request.infer(inputs).to_tuple()), inputs)
    again = core.import_model(compiled.export_model())
    assert again.inputs[0].shape == (4, 3, 8, 8)
    case.check(list(again(inputs).to_tuple()), inputs)


def test_a_batch_over_a_graph_for_one(core: Core) -> None:
    compiled = core.compile_model(models.mlp(), {"NPU_BATCH": 3})
    values = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    found = compiled(values)["probabilities"]
    case = models.case("mlp")
    for row, result in zip(values, found, strict=True):
        case.check([result[None]], [row[None]])
    with pytest.raises(az.InvalidArgument, match="first dimension is 1"):
        core.compile_model(models.outputs(), {"NPU_BATCH": 3})
    with pytest.raises(az.InvalidArgument, match="stateful"):
        core.compile_model(models.stateful(), {"NPU_BATCH": 3})


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_states_stay_between_inferences(core: Core, pipeline: str) -> None:
    compiled = core.compile_model(models.stateful(), PIPELINES[pipeline])
    request, other = compiled.create_infer_request(), compiled.create_infer_request()
    one = np.ones((1, 4), np.float32)
    assert [float(request.infer(one)[0][0, 0]) for _ in range(3)] == [2, 4, 6]
    assert float(other.infer(one)[0][0, 0]) == 2
    [state] = request.query_state()
    assert (state.name, state.state.data.tolist()) == ("total", [[3, 3, 3, 3]])
    state.state = np.full((1, 4), 10, np.float32)
    assert float(request.infer(one)[0][0, 0]) == 22
    request.reset_state()
    assert float(request.infer(one)[0][0, 0]) == 2


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_shapes_vary_within_their_bounds(core: Core, pipeline: str) -> None:
    case = models.case("dynamic")
    compiled = core.compile_model(case.build(), PIPELINES[pipeline])
    assert compiled.inputs[0].partial_shape == (None, 16)
    assert compiled.inputs[0].upper_bounds == (8, 16)
    with pytest.raises(az.InvalidArgument, match="is dynamic"):
        compiled.inputs[0].shape  # noqa: B018
    request = compiled.create_infer_request()
    for rows in (3, 8, 1, 5):
        values = np.random.default_rng(rows).standard_normal((rows, 16)).astype(np.float32)
        case.check([request.infer(values)[0]], [values])
        request.set_input_tensor(values)
        request.infer()
        case.check([request.get_output_tensor().data], [values])
    for wrong in ((9, 16), (3, 15), (16,)):
        with pytest.raises(az.InvalidArgument, match="rows has shape"):
            request.infer(np.zeros(wrong, np.float32))


def test_layers_are_timed(core: Core) -> None:
    compiled = core.compile_model(models.mlp(), {"PERF_COUNT": True})
    request = compiled.create_infer_request()
    assert request.profiling_info == []
    request.infer(np.ones((1, 64), np.float32))
    ran = [each for each in request.get_profiling_info() if each.status.name == "EXECUTED"]
    assert ran
    assert sum(each.real_time.total_seconds() for each in ran) > 0
    with pytest.raises(az.InvalidArgument, match="PERF_COUNT"):
        core.compile_model(models.mlp()).create_infer_request().profiling_info  # noqa: B018
    again = core.import_model(compiled.export_model(), {"PERF_COUNT": "YES"}).create_infer_request()
    again.infer()
    assert again.profiling_info
    plain = core.compile_model(models.mlp()).export_model()
    with pytest.raises(az.InvalidArgument, match="profiling"):
        core.import_model(plain, {"PERF_COUNT": "YES"})


def test_models_come_from_files_and_memory(core: Core, tmp_path: Path) -> None:
    case = models.case("mlp")
    inputs = case.inputs()
    path = tmp_path / "mlp.xml"
    ov.serialize(case.build(), str(path))
    xml, weights = path.read_bytes(), path.with_suffix(".bin").read_bytes()
    for compiled in (
        core.compile_model(path),
        core.compile_model(str(path), "NPU", {"PERFORMANCE_HINT": "THROUGHPUT"}),
        core.compile_model(xml, weights=weights),
        core.compile_model(case.build(), {"PERFORMANCE_HINT": "LATENCY"}),
    ):
        case.check(list(compiled(inputs).to_tuple()), inputs)


def test_onnx(core: Core, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="NOT TESTED: models in ONNX; pip install onnx")
    make = onnx.helper
    kind = onnx.TensorProto.FLOAT
    x, y = (make.make_tensor_value_info(name, kind, [2, 3]) for name in "xy")
    graph = make.make_graph([make.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    path = tmp_path / "relu.onnx"
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), path)
    values = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
    np.testing.assert_array_equal(core.compile_model(path)(values)["y"], np.maximum(values, 0))


def test_ir_needs_no_openvino_in_python(tmp_path: Path) -> None:
    """The driver has OpenVINO's library; a program with a model in IR does without its Python package."""
    path = tmp_path / "tiny.xml"
    ov.serialize(models.tiny(), str(path))
    program = """
import sys, numpy as np
from anyzero.npu import Core
found = Core().compile_model(sys.argv[1])(np.ones((1, 16), np.float32))
print([name for name in sys.modules if name.partition(".")[0] == "openvino"], float(found[0].sum()))
"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYZERO_")}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**kept, "ANYZERO_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout == "[] 12.0\n", done.stderr


def test_models_that_cannot_be_compiled(core: Core, tmp_path: Path) -> None:
    with pytest.raises(az.UnsupportedModel, match="6 dimensions"):
        core.compile_model(models.rank_six())
    with pytest.raises(az.UnsupportedModel, match="endless"):
        core.compile_model(models.unbounded())
    with pytest.raises(FileNotFoundError):
        core.compile_model(tmp_path / "none.xml")
    with pytest.raises(FileNotFoundError):
        core.compile_model(tmp_path / "none.onnx")
    with pytest.raises(az.InvalidArgument, match="import_model"):
        core.compile_model(tmp_path / "some.blob")
    with pytest.raises(TypeError, match=r"openvino\.Model"):
        core.compile_model(3)
    with pytest.raises(az.InvalidArgument, match="not for GPU"):
        core.compile_model(models.tiny(), "GPU")


def test_properties(core: Core) -> None:
    import openvino.properties.hint as hints

    compiled = core.compile_model(models.tiny(), {hints.performance_mode: hints.PerformanceMode.THROUGHPUT})
    assert compiled.get_property("PERFORMANCE_HINT") == "THROUGHPUT"
    assert compiled.get_property("NETWORK_NAME") == "tiny"
    assert int(compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")) > 1
    assert core.get_property("FULL_DEVICE_NAME") == core.device.name
    assert {"CACHE_DIR", "NPU_PIPELINE"} <= set(core.get_property("SUPPORTED_PROPERTIES"))
    json.dumps(compiled.get_property("SUPPORTED_PROPERTIES"))
    for wrong in ({"NONSENSE": 1}, {"NPU_PIPELINE": "SIDEWAYS"}, {"PERF_COUNT": "PERHAPS"}, {"NPU_BATCH": "many"}):
        with pytest.raises(az.InvalidArgument, match=next(iter(wrong))):
            core.compile_model(models.tiny(), wrong)
    with pytest.raises(az.InvalidArgument, match="NONSENSE"):
        compiled.get_property("NONSENSE")
    with pytest.raises(az.InvalidArgument, match="CACHE_DIR"):
        compiled.set_property({"CACHE_DIR": "x"})
    compiled.set_property({"MODEL_PRIORITY": "HIGH"})
    assert compiled.get_property("MODEL_PRIORITY") == "HIGH"
    compiled(np.zeros((1, 16), np.float32))


def test_query_model(core: Core) -> None:
    found = core.query_model(models.mlp())
    assert {"x", "relu_0", "probabilities"} <= set(found)
    assert set(found.values()) == {"NPU"}
