"""Graphs in Python: what they are made from, what they say of themselves, and how lists run them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openvino", reason="NOT TESTED: graphs need OpenVINO; pip install openvino")

import openvino as ov

import anyzero as az
from tests.npu import models
from tests.patience import PATIENCE

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def ctx() -> Iterator[az.Context]:
    with az.device("npu").context() as made:
        yield made


def written(model: ov.Model, folder: Path) -> Path:
    path = folder / f"{model.get_friendly_name()}.xml"
    ov.serialize(model, str(path), str(path.with_suffix(".bin")))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    made = (models.mlp(), models.stateful(), models.dynamic(), models.outputs())
    return {model.get_friendly_name(): written(model, folder) for model in made}


@pytest.fixture(scope="module")
def mlp(ctx: az.Context, files: dict[str, Path]) -> az.Graph:
    return ctx.graph(files["mlp"], cache=False)


def memory(graph: az.Graph, inputs: list[Array]) -> dict[str, az.Buffer]:
    made = graph.buffers()
    for argument, values in zip(graph.inputs, inputs, strict=True):
        np.asarray(made[argument.name])[...] = values
    return made


def given(graph: az.Graph, made: dict[str, az.Buffer]) -> list[Array]:
    return [np.asarray(made[each.name]) for each in graph.outputs]


# Sources


def test_weights_lie_beside_the_model_or_are_given(ctx: az.Context, files: dict[str, Path]) -> None:
    path = files["mlp"]
    case = models.case("mlp")
    inputs = case.inputs()
    for graph in (
        ctx.graph(str(path), cache=False),
        ctx.graph(path.read_bytes(), weights=path.with_suffix(".bin"), cache=False),
        ctx.graph(path, weights=path.with_suffix(".bin").read_bytes(), cache=False),
    ):
        made = memory(graph, inputs)
        with ctx.immediate() as lst:
            lst.execute(graph, made).wait(timeout=PATIENCE)
        case.check(given(graph, made), inputs)


def test_sources_that_are_none_are_refused(ctx: az.Context, tmp_path: Path, files: dict[str, Path]) -> None:
    with pytest.raises(TypeError, match="file name or bytes"):
        ctx.graph(12)  # type: ignore[arg-type]
    with pytest.raises(az.InvalidArgument, match="contains its weights"):
        ctx.graph(b"AZ", weights=b"x")
    with pytest.raises(ValueError, match="'ir' or 'native'"):
        ctx.graph(b"AZ", format="onnx")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        ctx.graph(tmp_path / "none.xml")
    (tmp_path / "m.onnx").write_bytes(b"onnx")
    with pytest.raises(az.InvalidArgument, match="ONNX"):
        ctx.graph(tmp_path / "m.onnx")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(az.Error):
        ctx.graph(tmp_path / "empty")


def test_damaged_models_say_what_is_wrong_with_them(ctx: az.Context, files: dict[str, Path]) -> None:
    xml = files["mlp"].read_bytes()
    with pytest.raises(az.BuildError) as caught:
        ctx.graph(xml[: len(xml) // 2], weights=b"")
    assert caught.value.log
    with pytest.raises(az.BuildError) as caught:
        ctx.graph(xml, weights=b"too short")
    assert "Const" in caught.value.log


def test_a_model_that_is_not_supported_names_the_layer(ctx: az.Context, tmp_path: Path) -> None:
    with pytest.raises(az.UnsupportedModel) as caught:
        ctx.graph(written(models.rank_six(), tmp_path))
    assert isinstance(caught.value, az.BuildError)
    assert isinstance(caught.value, az.UnsupportedFeature)
    assert '"x"' in caught.value.log
    assert "6 dimensions" in str(caught.value)


def test_other_devices_have_no_graphs() -> None:
    with az.device("cpu").context() as other, pytest.raises(az.UnsupportedFeature, match="NPU"):
        other.graph(b"<net/>")


# Properties


def test_arguments_tell_names_types_and_shapes(mlp: az.Graph) -> None:
    x, y = mlp.arguments
    assert (x.name, x.direction, x.role, x.precision, x.dtype) == ("x", "input", "data", "f32", np.float32)
    assert (x.shape, x.bounds, x.nbytes, x.tensor_names) == ((1, 64), (1, 64), 256, ("x",))
    assert (y.direction, y.tensor_names) == ("output", ("probabilities",))
    assert mlp.argument("probabilities") is mlp.argument(1) is mlp.argument(y) is y
    assert mlp.inputs == (x,)
    assert mlp.outputs == (y,)
    for wrong in ("nothing", 2, -1):
        with pytest.raises(az.InvalidArgument):
            mlp.argument(wrong)


def test_states_are_pairs_of_arguments(ctx: az.Context, files: dict[str, Path]) -> None:
    graph = ctx.graph(files["stateful"], cache=False)
    read, assign = (each for each in graph.arguments if each.role == "state")
    assert (read.direction, assign.direction, read.of, assign.of) == ("input", "output", "total", "total")
    made = graph.buffers()
    assert made[read.name] is made[assign.name]
    np.asarray(made["x"])[...] = 1
    with ctx.immediate() as lst:
        for _ in range(3):
            lst.execute(graph, made)
    assert np.asarray(made[read.name]).tolist() == [[3, 3, 3, 3]]


def test_shapes_that_vary_are_arguments(ctx: az.Context, files: dict[str, Path]) -> None:
    graph = ctx.graph(files["dynamic"], cache=False)
    rows = graph.argument("rows")
    assert (rows.shape, rows.bounds, rows.dynamic) == ((None, 16), (8, 16), True)
    extents = [each for each in graph.arguments if each.role == "shape"]
    assert [each.of for each in extents] == [rows.name, graph.outputs[0].name]
    made = graph.buffers()
    case = models.case("dynamic")
    values = np.ones((3, 16), np.float32)
    np.asarray(made[rows.name])[:3] = values
    np.asarray(made[extents[0].name])[...] = (16, 3)
    with ctx.immediate() as lst:
        lst.execute(graph, made).wait(timeout=PATIENCE)
    assert np.asarray(made[extents[1].name]).tolist() == [4, 3]
    case.check([np.asarray(made[graph.outputs[0].name])[:3]], [values])


def test_the_compiler_of_a_device() -> None:
    found = az.device("npu").graph_compiler
    assert found.extension == "1.17"
    assert tuple(map(int, found.version.split("."))) >= (7, 27)
    assert found.opset >= 11
    assert "NPU_PLATFORM" in found.options
    with pytest.raises(az.UnsupportedFeature):
        az.device("cpu").graph_compiler  # noqa: B018


def test_the_layers_that_the_compiler_takes(ctx: az.Context, files: dict[str, Path]) -> None:
    found = ctx.supported_layers(files["mlp"])
    assert {"x", "relu_0", "relu_2", "probabilities"} <= set(found)


# The native form


def test_a_saved_graph_is_used_where_it_lies(ctx: az.Context, mlp: az.Graph, tmp_path: Path) -> None:
    path = tmp_path / "mlp.blob"
    mlp.save(path)
    assert path.read_bytes() == bytes(mlp.native)
    case = models.case("mlp")
    inputs = case.inputs(1)
    # The second is moved off its page, should it begin at one.
    mapped, copied = ctx.graph(path), ctx.graph(memoryview(b"x" * 8 + path.read_bytes())[8:])
    assert mapped.properties.in_place
    assert mapped.properties.precompiled
    assert not copied.properties.in_place
    for graph in (mapped, copied):
        made = memory(graph, inputs)
        with ctx.immediate() as lst:
            lst.execute(graph, made).wait(timeout=PATIENCE)
        case.check(given(graph, made), inputs)


def test_memory_that_can_be_written_to_is_copied(ctx: az.Context, mlp: az.Graph) -> None:
    blob = models.aligned(np.frombuffer(mlp.native, np.uint8))
    graph = ctx.graph(blob)
    assert not graph.properties.in_place
    case = models.case("mlp")
    inputs = case.inputs(2)
    made = memory(graph, inputs)
    blob[...] = 0
    with ctx.immediate() as lst:
        lst.execute(graph, made).wait(timeout=PATIENCE)
    case.check(given(graph, made), inputs)


def test_damaged_blobs_are_refused(ctx: az.Context, mlp: az.Graph) -> None:
    whole = bytes(mlp.native)
    for place in (0, 8, len(whole) // 2, len(whole) - 1):
        altered = bytearray(whole)
        altered[place] ^= 0x55
        with pytest.raises(az.BuildError):
            ctx.graph(bytes(altered))
    for size in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        with pytest.raises(az.Error):
            ctx.graph(whole[:size])


def test_the_binary_outlives_its_graph(ctx: az.Context, files: dict[str, Path]) -> None:
    graph = ctx.graph(files["mlp"], cache=False)
    view = graph.native
    kept = bytes(view)
    graph.close()
    with pytest.raises(az.ClosedError):
        graph.native  # noqa: B018
    del graph
    gc.collect()
    assert view.readonly
    assert bytes(view) == kept


# Running


@pytest.mark.parametrize("kind", ["immediate", "recorded"])
def test_lists_run_graphs(ctx: az.Context, files: dict[str, Path], kind: str) -> None:
    case = models.case("outputs")
    graph = ctx.graph(files["outputs"], cache=False)
    inputs = case.inputs()
    made = memory(graph, inputs)
    start, done = ctx.events(2, timing=True)
    if kind == "immediate":
        lst = ctx.immediate()
        lst.execute(graph, made, wait=start, signal=done)
    else:
        with ctx.command_list() as cl:
            cl.execute(graph, list(made.values()), wait=start, signal=done)
        queue = ctx.queue()
        fence = queue.submit(cl)
    assert not done.done
    start.signal()
    done.wait(timeout=PATIENCE)
    assert done.kernel_ns > 0
    case.check(given(graph, made), inputs)
    if kind == "recorded":
        fence.wait(timeout=PATIENCE)


def test_a_list_takes_arguments_as_they_are_when_it_is_recorded(ctx: az.Context, mlp: az.Graph) -> None:
    case = models.case("mlp")
    first, second = case.inputs(3), case.inputs(4)
    one, other = memory(mlp, first), memory(mlp, second)
    for name, buffer in one.items():
        mlp.set(name, buffer)
    with ctx.command_list() as cl:
        cl.execute(mlp)
    for name, buffer in other.items():
        mlp.set(name, buffer)
    ctx.queue().submit(cl).wait(timeout=PATIENCE)
    case.check(given(mlp, one), first)
    assert not given(mlp, other)[0].any()


def test_recorded_runs_can_be_given_other_memory(ctx: az.Context, mlp: az.Graph) -> None:
    case = models.case("mlp")
    first, second = case.inputs(5), case.inputs(6)
    one, other = memory(mlp, first), memory(mlp, second)
    with ctx.command_list(mutable=True) as cl:
        command = cl.execute_mutable(mlp, one)
        with pytest.raises(az.InvalidArgument, match="still being recorded"):
            command.set(0, other["x"])
    queue = ctx.queue()
    queue.submit(cl).wait(timeout=PATIENCE)
    command.set("x", other["x"])
    command.set(1, other[mlp.outputs[0].name])
    queue.submit(cl).wait(timeout=PATIENCE)
    case.check(given(mlp, one), first)
    case.check(given(mlp, other), second)
    with pytest.raises(az.InvalidArgument, match="256 bytes"):
        command.set("x", ctx.zeros(4, np.uint8, kind="host"))


def test_arguments_that_do_not_fit_are_refused(ctx: az.Context, files: dict[str, Path]) -> None:
    graph = ctx.graph(files["mlp"], cache=False)
    lst = ctx.immediate()
    with pytest.raises(az.InvalidArgument, match="no memory is set for x, "):
        lst.execute(graph)
    with pytest.raises(az.InvalidArgument, match="takes 256 bytes"):
        graph.set("x", ctx.zeros(63, np.float32, kind="host"))
    with pytest.raises(az.InvalidArgument, match="no argument called"):
        lst.execute(graph, {"z": ctx.zeros(64, np.float32, kind="host")})
    with pytest.raises(az.InvalidArgument, match="3 values for 2"):
        lst.execute(graph, [None] * 3)
    copies = ctx.immediate(kind="copy")
    with pytest.raises(az.Error, match="copy"):
        copies.execute(graph, graph.buffers())


def test_what_runs_may_be_let_go(ctx: az.Context, files: dict[str, Path]) -> None:
    graph = ctx.graph(files["mlp"], cache=False)
    case = models.case("mlp")
    inputs = case.inputs(7)
    made = memory(graph, inputs)
    result = given(graph, made)
    start, done = ctx.events(2)
    lst = ctx.immediate()
    lst.execute(graph, made, wait=start, signal=done)
    graph.close()
    del graph, made
    lst.close()
    gc.collect()
    start.signal()
    done.wait(timeout=PATIENCE)
    case.check(result, inputs)


def test_threads_share_a_graph(ctx: az.Context, mlp: az.Graph) -> None:
    case = models.case("mlp")
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            inputs = case.inputs(seed)
            wanted = case.expected(inputs)[0]
            made = memory(mlp, inputs)
            out = given(mlp, made)[0]
            with ctx.immediate() as lst:
                for _ in range(50):
                    out[...] = 0
                    lst.execute(mlp, made).wait(timeout=PATIENCE)
                    np.testing.assert_allclose(out, wanted, atol=models.tolerance())
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# Profiling


def test_layers_are_timed(ctx: az.Context, files: dict[str, Path]) -> None:
    graph = ctx.graph(files["mlp"], profiling=True, cache=False)
    assert graph.properties.profiling
    profile = graph.profiler(2)[1]
    with pytest.raises(az.NotReady):
        profile.layers  # noqa: B018
    with ctx.immediate() as lst:
        lst.execute(graph, graph.buffers(), profile=profile).wait(timeout=PATIENCE)
    ran = [each for each in profile.layers if each.status == "executed"]
    assert ran
    assert sum(each.duration_ns for each in ran) > 0
    assert all(each.type for each in ran)


def test_a_graph_without_profiling_has_no_profiler(mlp: az.Graph) -> None:
    assert not mlp.properties.profiling
    with pytest.raises(az.UnsupportedFeature, match="PERF_COUNT"):
        mlp.profiler()
