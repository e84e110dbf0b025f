"""Weightless graphs: weights are arguments, and neither blob nor cache has them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openvino", reason="NOT TESTED: graphs need OpenVINO; pip install openvino")

import openvino as ov
from openvino import opset13 as op

import anyzero as az
from anyzero.api.calls.graph_extension import extension
from anyzero.npu import Core
from anyzero.ze import npu
from tests.npu import models
from tests.patience import PATIENCE

WEIGHTLESS = {"ENABLE_WEIGHTLESS": True}
SIDE = 128
Array = np.ndarray[Any, Any]


def weights(factor: float = 1) -> Array:
    return (np.random.default_rng(0).standard_normal((SIDE, SIDE)) * factor).astype(np.float32)


def expected(x: Array, w: Array) -> Array:
    return np.maximum(x @ w.T, 0)


@pytest.fixture(scope="module")
def ctx() -> Iterator[az.Context]:
    with az.device("npu").context() as made:
        yield made


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one product, whose constant is called "w"."""
    x = op.parameter([2, SIDE], np.float32, name="x")
    y = op.relu(op.matmul(x, op.constant(weights(), name="w"), False, True))
    y.output(0).get_tensor().set_names({"y"})
    found = tmp_path_factory.mktemp("weightless") / "product.xml"
    ov.serialize(ov.Model([y], [x], "product"), str(found))
    return found


@pytest.fixture
def graph(ctx: az.Context, path: Path) -> az.Graph:
    return ctx.graph(path, options=WEIGHTLESS, cache=False)


X = np.random.default_rng(1).standard_normal((2, SIDE)).astype(np.float32)
CLOSE = {"rtol": 0.05, "atol": 0.5}
"""The processor may compute in 16 bits; other weights make results that are far away."""


def infer(ctx: az.Context, graph: az.Graph) -> Array:
    buffers = graph.buffers()
    np.asarray(buffers[graph.inputs[0].name])[...] = X
    with ctx.immediate() as lst:
        lst.execute(graph, buffers).wait(timeout=PATIENCE)
    return np.array(buffers[graph.outputs[0].name])


class TestArguments:
    def test_a_constant_is_an_argument(self, graph: az.Graph) -> None:
        (found,) = (each for each in graph.arguments if each.role == "weights")
        assert found == graph.argument("w")
        assert (found.direction, found.of, found.precision, found.bounds) == ("input", "0", "f32", (SIDE, SIDE))
        assert [each.role for each in (*graph.inputs, *graph.outputs)] == ["data", "data"]

    def test_the_blob_is_without_it(self, ctx: az.Context, path: Path, graph: az.Graph) -> None:
        whole = ctx.graph(path, cache=False)
        assert weights()[3].tobytes() in bytes(whole.native)
        assert weights()[3].tobytes() not in bytes(graph.native)
        assert len(graph.native) < weights().nbytes / 4

    def test_it_computes_with_what_is_set(self, ctx: az.Context, path: Path, graph: az.Graph) -> None:
        graph.set_weights(path.with_suffix(".bin"))
        assert np.allclose(infer(ctx, graph), expected(X, weights()), **CLOSE)
        again = ctx.graph(bytes(graph.native))
        again.set("w", weights(-3))
        assert np.allclose(infer(ctx, again), expected(X, weights(-3)), **CLOSE)
        again.set("w", weights())
        assert np.allclose(infer(ctx, again), expected(X, weights()), **CLOSE)

    def test_its_copy_of_the_weights_counts_as_memory(self, ctx: az.Context, graph: az.Graph) -> None:
        def used() -> int:
            answer = npu.ze_graph_memory_query_t()
            kind = npu.ZE_GRAPH_QUERY_MEMORY_PROGRAM_CACHE
            assert extension(ctx.device.driver).QueryContextMemory(ctx.handle, kind, ctypes.byref(answer)) == 0
            return int(answer.allocated)

        graph.set("w", weights())
        before = used()
        infer(ctx, graph)
        assert used() == before + weights().nbytes
        graph.evict()
        assert used() == before

    def test_without_weights_it_is_not_executed(self, ctx: az.Context, graph: az.Graph) -> None:
        with pytest.raises(az.InvalidArgument, match="set_weights"):
            infer(ctx, graph)
        with pytest.raises(az.InvalidArgument, match=f"{SIDE * SIDE * 4} bytes at 0, and these weights have 100"):
            graph.set_weights(bytes(100))

    def test_a_recorded_execution_takes_other_weights(self, ctx: az.Context, graph: az.Graph) -> None:
        graph.set("w", weights())
        buffers = graph.buffers()
        np.asarray(buffers["x"])[...] = X
        with ctx.command_list(mutable=True) as lst, ctx.queue() as queue:
            run = lst.execute_mutable(graph, buffers)
            lst.end()
            for factor in (1, -2):
                run.set("w", weights(factor))
                queue.submit(lst).wait(timeout=PATIENCE)
                assert np.allclose(np.asarray(buffers[graph.outputs[0].name]), expected(X, weights(factor)), **CLOSE)


class TestInitialization:
    def test_weights_may_be_written_by_the_list_itself(self, ctx: az.Context, graph: az.Graph) -> None:
        """They are read when the graph runs, not when it is appended."""
        source, target = ctx.zeros((SIDE, SIDE), np.float32, kind="host"), ctx.zeros((SIDE, SIDE), np.float32)
        np.asarray(source)[...] = weights()
        graph.set("w", target)
        buffers = graph.buffers()
        np.asarray(buffers["x"])[...] = X
        with ctx.command_list() as lst:
            lst.copy(target, source)
            lst.barrier()
            lst.execute(graph, buffers)
        with ctx.queue() as queue:
            queue.submit(lst).wait(timeout=PATIENCE)
        assert np.allclose(np.asarray(buffers[graph.outputs[0].name]), expected(X, weights()), **CLOSE)

    def test_a_list_takes_them_anew(self, ctx: az.Context, graph: az.Graph) -> None:
        """A graph that has run keeps its weights; AppendGraphInitialize makes it read them again."""
        called = extension(ctx.device.driver)
        memory = ctx.zeros((SIDE, SIDE), np.float32, kind="host")
        np.asarray(memory)[...] = weights()
        graph.set("w", memory)
        buffers = graph.buffers()
        np.asarray(buffers["x"])[...] = X
        result = buffers[graph.outputs[0].name]
        with ctx.command_list() as running, ctx.command_list() as anew, ctx.queue() as queue:
            running.execute(graph, buffers)
            running.end()
            assert called.AppendGraphInitialize(anew.handle, graph.handle, None, 0, None) == 0
            anew.end()
            queue.submit(running).wait(timeout=PATIENCE)
            np.asarray(memory)[...] = weights(5)
            queue.submit(running).wait(timeout=PATIENCE)
            assert np.allclose(np.asarray(result), expected(X, weights()), **CLOSE)
            queue.submit(anew).wait(timeout=PATIENCE)
            queue.submit(running).wait(timeout=PATIENCE)
            assert np.allclose(np.asarray(result), expected(X, weights(5)), **CLOSE)

    def test_unreadable_weights_are_an_error(self, path: Path) -> None:
        with az.device("npu").context() as ctx:
            graph = ctx.graph(path, options=WEIGHTLESS, cache=False)
            called = extension(ctx.device.driver)
            buffers = graph.buffers()
            graph.set("w", weights())
            assert called.SetArgumentValue(graph.handle, graph.argument("w").index, ctypes.c_void_p(4096)) == 0
            with pytest.raises(az.DeviceLost, match=r"vpux_tw_0.* cannot be read"), ctx.immediate() as lst:
                lst.execute(graph, buffers).wait(timeout=PATIENCE)


class TestPlugin:
    @pytest.mark.parametrize("name", ["mlp", "dynamic", "half"])
    def test_models(self, tmp_path: Path, name: str) -> None:
        case, core = models.case(name), Core()
        ov.serialize(case.build(), str(tmp_path / "model.xml"))
        whole = core.compile_model(tmp_path / "model.xml", {"NPU_BYPASS_UMD_CACHING": True})
        made = core.compile_model(tmp_path / "model.xml", {**WEIGHTLESS, "NPU_BYPASS_UMD_CACHING": True})
        blob = made.export_model()
        (tmp_path / "elsewhere").write_bytes((tmp_path / "model.bin").read_bytes())
        again = core.import_model(blob, {"WEIGHTS_PATH": tmp_path / "elsewhere"})
        inputs = case.inputs()
        for one, two, three in zip(*(list(each(inputs).values()) for each in (whole, made, again)), strict=True):
            assert np.array_equal(one, two)
            assert np.array_equal(one, three)

    def test_a_cache_is_without_weights(self, tmp_path: Path, path: Path) -> None:
        config = {**WEIGHTLESS, "CACHE_DIR": tmp_path / "cache"}
        for cached in (False, True):
            made = Core().compile_model(path, config)
            assert made.get_property("LOADED_FROM_CACHE") == cached
            assert np.allclose(made([X])["y"], expected(X, weights()), **CLOSE)
        kept = sum(each.stat().st_size for each in (tmp_path / "cache").rglob("*") if each.is_file())
        assert 0 < kept < weights().nbytes / 4

    def test_an_import_needs_the_weights(self, path: Path) -> None:
        core = Core()
        blob = core.compile_model(path, WEIGHTLESS).export_model()
        with pytest.raises(az.InvalidArgument, match="WEIGHTS_PATH"):
            core.import_model(blob)
