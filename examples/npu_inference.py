"""A model on the NPU: as a graph in a command list, and through the inference plugin with OpenVINO's names."""

import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    import openvino as ov
    from openvino import opset13 as op
except ImportError as error:
    print(f"skipped: {error}; pip install anyzero[npu]")
    sys.exit()

import anyzero as az
from anyzero.npu import AsyncInferQueue, Core

# A small model, in OpenVINO's own format: probabilities = softmax(relu(x · w)).
w = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
x = op.parameter([1, 16], np.float32, name="x")
y = op.softmax(op.relu(op.matmul(x, op.constant(w), False, True)), 1)
y.output(0).get_tensor().set_names({"probabilities"})
model = ov.Model([y], [x], "small")  # pyright: ignore[reportGeneralTypeIssues] (OpenVINO's own stubs)


def expected(values: np.ndarray) -> np.ndarray:
    powers: np.ndarray = np.exp(np.maximum(values @ w.T, 0))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "small.xml")
    ov.serialize(model, str(path))
    values = np.random.default_rng(1).standard_normal((1, 16)).astype(np.float32)

    # 1. The graph itself: one command in a list, on memory that host and device share.
    with az.device("npu").context() as ctx:
        graph = ctx.graph(path)
        given, made = ctx.zeros((1, 16), np.float32, kind="host"), ctx.zeros((1, 8), np.float32, kind="host")
        np.asarray(given)[...] = values
        with ctx.command_list() as cl:
            cl.execute(graph, {"x": given, "probabilities": made})
        with ctx.queue() as queue:
            queue.submit(cl).wait(timeout=30)
        assert np.allclose(np.asarray(made), expected(values), atol=0.02)
        print(f"ok: {graph} ran in a command list")

        graph.save(Path(folder, "small.blob"))
        again = ctx.graph(Path(folder, "small.blob"))
        assert again.properties.precompiled
        assert again.properties.in_place
        print("ok: a saved graph is used in place, without compiling")

    # 2. The plugin: requests with their own tensors.
    core = Core()
    compiled = core.compile_model(path, {"PERFORMANCE_HINT": "LATENCY", "CACHE_DIR": str(Path(folder, "cache"))})
    request = compiled.create_infer_request()
    request.get_tensor("x").data[...] = values  # memory that the device reads
    request.infer()
    assert np.allclose(request.get_tensor("probabilities").data, expected(values), atol=0.02)
    print("ok: a request computed the same")

    in_place, copied = (
        core.compile_model(path, {"NPU_PIPELINE": kind})(values)["probabilities"] for kind in ("INTEGRATED", "DISCRETE")
    )
    assert np.array_equal(in_place, copied)
    print("ok: tensors in place, and copies to and from the device, give the same")

    # 3. Several inferences in flight, each with a callback.
    found: dict[int, np.ndarray] = {}
    jobs = AsyncInferQueue(compiled, 4)
    jobs.set_callback(lambda done, number: found.update({number: done.results["probabilities"]}))
    inputs = {number: np.random.default_rng(number).standard_normal((1, 16)).astype(np.float32) for number in range(20)}
    for number, each in inputs.items():
        jobs.start_async(each, number)
    jobs.wait_all()
    assert found.keys() == inputs.keys()
    assert all(np.allclose(found[number], expected(each), atol=0.02) for number, each in inputs.items())
    print(f"ok: {len(found)} inferences on {len(jobs)} requests")
