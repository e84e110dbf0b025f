"""Inferences in recordings: commands with their model, layers inside of them, and the steps that created the graph."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.tracing import chrome, page
from anyzero.tracing.recording import Recording

SHAPE = (1, 4)
ARGUMENT_BYTES = 2 * 4 * 4  # one input, one output


@pytest.fixture(scope="module")
def ov() -> Any:
    """Imported late: all processes import this file, and one that has loaded OpenVINO forks slowly."""
    return pytest.importorskip("openvino", reason="NOT TESTED: openvino cannot be imported; pip install openvino")


@pytest.fixture(scope="module")
def ctx(ov: Any) -> Any:
    with az.device("npu").context() as made:
        yield made


@pytest.fixture(scope="module")
def model(ov: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    op = ov.opset13
    x = op.parameter(SHAPE, np.float32, name="x")
    product = op.matmul(x, op.constant(np.eye(4, dtype=np.float32)), False, False, name="product")
    path = tmp_path_factory.mktemp("model") / "model.xml"
    ov.serialize(ov.Model([op.relu(product, name="clamp")], [x], "traced model"), str(path))
    return path


def run(ctx: Any, graph: Any) -> Recording:
    with az.trace() as recorded, ctx.immediate() as lst:
        lst.execute(graph, graph.buffers()).wait(timeout=60)
    return recorded.recording


def test_an_inference_is_a_command_with_its_model_and_bytes(ctx: Any, model: Path) -> None:
    recording = run(ctx, ctx.graph(model))
    [command] = [each for each in recording.commands if each.kind == "inference"]
    assert (command.name, command.nbytes) == ("traced model", ARGUMENT_BYTES)
    appended = [each for each in recording.calls if each.name == "zeAppendGraphExecute"]
    assert [(each.queue, each.position) for each in appended] == [(command.queue, command.position)]
    assert recording.layers == []  # the graph was created without profiling


def test_layers_lie_inside_of_the_inference(ctx: Any, model: Path) -> None:
    graph = ctx.graph(model, profiling=True)
    recording = run(ctx, graph)
    [command] = [each for each in recording.commands if each.kind == "inference"]
    layers = recording.layers
    assert {"FullyConnected", "MatMul"} & {each.type for each in layers}
    assert {each.model for each in layers} == {"traced model"}
    assert all((each.queue, each.position) == (command.queue, command.position) for each in layers)
    edges = [command.start, *(time for each in layers for time in (each.start, each.end)), command.end]
    assert edges == sorted(edges)
    shown = [each for each in chrome.events([recording]) if each.get("cat") == "layer"]
    assert [each["name"] for each in shown] == [each.name for each in layers]
    [outer] = [each for each in chrome.events([recording]) if each.get("args", {}).get("command") == "inference"]
    assert {(each["pid"], each["tid"]) for each in shown} == {(outer["pid"], outer["tid"])}


def test_profiled_queries_get_the_layers_too(ctx: Any, model: Path) -> None:
    graph = ctx.graph(model, profiling=True)
    profile = graph.profiler(1)[0]
    with az.trace() as recorded, ctx.immediate() as lst:
        lst.execute(graph, graph.buffers(), profile=profile).wait(timeout=60)
    executed = [each.name for each in profile.layers if each.status == "executed"]
    assert sorted(each.name for each in recorded.recording.layers) == sorted(executed)


def test_creating_a_graph_shows_lookup_compilation_and_import(ctx: Any, model: Path) -> None:
    with az.trace() as first:
        made = ctx.graph(model, cache=False)
    with az.trace() as second:
        ctx.graph(bytes(made.native))
    assert [(each.name, each.model) for each in first.recording.graph_steps] == [("compile", "traced model")]
    assert [each.name for each in second.recording.graph_steps] == ["import"]
    assert [each.name for each in first.recording.requests] == ["graphs.manifest"]
    assert [each.name for each in first.recording.calls if each.name.startswith("zeGraphCreate")] == ["zeGraphCreate2"]
    with az.trace() as third:
        ctx.graph(model)
    assert "cache lookup" in [each.name for each in third.recording.graph_steps]


def test_tables_are_by_model(ctx: Any, model: Path) -> None:
    with az.trace() as recorded:
        graph = ctx.graph(model, profiling=True, cache=False)
        with ctx.immediate() as lst:
            lst.execute(graph, graph.buffers()).wait(timeout=60)
    text = recorded.summary()
    assert "traced model: compile" in text
    assert "traced model: product" in text
    written = io.StringIO()
    page.write([recorded.recording], written)
    data = written.getvalue()
    data = data[data.index('{"tracks"') :]
    titles = [each["title"] for each in json.JSONDecoder().raw_decode(data)[0]["tables"]]
    assert titles[:4] == ["Commands", "Layers", "Calls", "Graph creation"]
