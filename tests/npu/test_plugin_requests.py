"""Infer requests of the plugin: tensors, callbacks, queues of requests, and what goes wrong."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openvino", reason="NOT TESTED: the inference plugin needs OpenVINO; pip install openvino")

import openvino as ov

import anyzero as az
from anyzero.npu import AsyncInferQueue, CompiledModel, Core, RequestBusy, Tensor
from tests.npu import models
from tests.patience import PATIENCE

Array = np.ndarray[Any, Any]
CASE = models.case("mlp")


@pytest.fixture(scope="module")
def core() -> Core:
    made = Core()
    made.set_property({"NPU_BYPASS_UMD_CACHING": True})
    return made


@pytest.fixture(scope="module", params=["INTEGRATED", "DISCRETE"])
def compiled(core: Core, request: pytest.FixtureRequest) -> CompiledModel:
    return core.compile_model(CASE.build(), {"NPU_PIPELINE": request.param})


@pytest.fixture(scope="module")
def slow(core: Core) -> CompiledModel:
    """A model that takes some milliseconds."""
    return core.compile_model(models.mlp(1024, 6))


# Tensors


def test_tensors_are_the_devices_memory(core: Core, compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    tensor = request.get_tensor("x")
    assert tensor is request.get_input_tensor() is request.get_tensor(compiled.input())
    assert tensor.buffer is not None
    assert tensor.buffer.pointer == tensor.data.ctypes.data
    assert (tensor.shape, tensor.element_type.name, tensor.byte_size) == ((1, 64), "f32", 256)
    output = request.get_output_tensor().data
    for seed in range(3):
        [tensor.data[...]] = CASE.inputs(seed)
        request.infer()
        CASE.check([output], CASE.inputs(seed))


@pytest.mark.parametrize("whole_pages", [True, False])
def test_arrays_of_the_program_are_used(compiled: CompiledModel, whole_pages: bool) -> None:
    """Later writes are visible, and results are stored in them; by import, or by copies of the device."""
    rows = 1024 if whole_pages else 64
    core = Core()
    model = core.compile_model(
        models.mlp(rows, 1), {"NPU_BYPASS_UMD_CACHING": True, "NPU_PIPELINE": compiled.get_property("NPU_PIPELINE")}
    )
    cpu = ov.Core().compile_model(models.mlp(rows, 1), "CPU")
    given, taken = (models.aligned(np.zeros((1, rows), np.float32)) for _ in range(2))
    request = model.create_infer_request()
    request.set_tensor("x", given)
    request.set_output_tensor(taken)
    assert (request.get_tensor("x").buffer is not None) == whole_pages
    for seed in range(3):
        given[...] = np.random.default_rng(seed).standard_normal(given.shape)
        request.infer()
        np.testing.assert_allclose(taken, cpu(given)[0], atol=models.tolerance() * float(np.abs(taken).max()))
    # And back to memory of the request's own.
    own = core.create_host_tensor("f32", (1, rows))
    request.set_tensor("x", own)
    own.data[...] = 1
    request.infer()
    np.testing.assert_allclose(taken, cpu(np.ones_like(taken))[0], atol=models.tolerance() * float(np.abs(taken).max()))


def test_one_model_reads_what_another_wrote(core: Core, compiled: CompiledModel) -> None:
    first, second = compiled.create_infer_request(), compiled.create_infer_request()
    second.set_input_tensor(0, first.get_output_tensor())
    inputs = CASE.inputs(5)
    [between] = CASE.expected(inputs)
    first.infer(inputs)
    second.infer()
    CASE.check([second.get_output_tensor().data], [between])


def test_inputs_in_all_forms(core: Core, compiled: CompiledModel) -> None:
    [values] = CASE.inputs(6)
    port = compiled.input()
    for form in (
        values,
        [values],
        {"x": values},
        {0: values},
        {port: values},
        values.astype(np.float64),
        ov.Tensor(values),
        Tensor(values),
        values.reshape(64),
    ):
        CASE.check([compiled.infer_new_request(form)[0]], [values])
    request = compiled.create_infer_request()
    for share in (False, True):
        results = request.infer(values, share_inputs=share, share_outputs=share)
        CASE.check([results[compiled.output()]], [values])
        assert np.shares_memory(results["probabilities"], request.get_output_tensor().data) == share
    assert len(results) == 1
    assert list(results) == [compiled.output()]
    with pytest.raises(KeyError):
        results["nothing"]


def test_inputs_that_do_not_fit(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    for wrong in (np.zeros((2, 64), np.float32), [np.zeros((1, 64), np.float32)] * 2, {"z": np.zeros((1, 64))}, {3: 0}):
        with pytest.raises(az.InvalidArgument):
            request.infer(wrong)
    with pytest.raises(az.InvalidArgument, match="float64"):
        request.set_tensor("x", np.zeros((1, 64)))
    with pytest.raises(az.InvalidArgument, match="shape"):
        request.set_tensor("x", np.zeros((1, 63), np.float32))
    with pytest.raises(az.InvalidArgument, match="contiguous"):
        request.set_tensor("x", np.zeros((64, 2), np.float32).T[:1])
    frozen = np.zeros((1, 64), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(az.InvalidArgument, match="written"):
        request.set_output_tensor(frozen)
    inputs = CASE.inputs(7)
    CASE.check([request.infer(inputs)[0]], inputs)


# Time


def test_a_started_inference_can_be_waited_for(slow: CompiledModel) -> None:
    request = slow.create_infer_request()
    request.infer()
    request.start_async()
    assert request.wait_for(200_000)
    assert request.ready
    assert request.latency > 0
    request.start_async()
    while not request.ready:
        time.sleep(0.001)
    # Nobody waited for it, and yet it is done.
    request.start_async()
    with pytest.raises(RequestBusy):  # noqa: PT012 (it may be done before this looks)
        while True:
            request.start_async()
    request.wait()
    request.wait()


def test_callbacks(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    seen: list[tuple[Any, bool]] = []
    main = threading.get_ident()
    request.set_callback(lambda data: seen.append((data, threading.get_ident() == main)), "data")
    inputs = CASE.inputs(8)
    for _ in range(3):
        request.start_async(inputs)
        request.wait()
        CASE.check([request.results[0]], inputs)
    assert seen == [("data", False)] * 3
    request.start_async(inputs, "other")
    request.wait()
    assert seen[-1] == ("other", False)
    # A synchronous inference has none.
    request.infer(inputs)
    assert len(seen) == 4


def test_a_callback_may_start_the_next_inference(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    done = threading.Event()
    count = 0

    def again(_: object) -> None:
        nonlocal count
        count += 1
        if count < 20:
            request.start_async()
        else:
            done.set()

    request.set_callback(again)
    request.start_async()
    assert done.wait(PATIENCE)
    assert count == 20


def test_what_a_callback_raises_is_raised_by_the_wait(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()

    def fail(_: object) -> None:
        raise LookupError("on purpose")

    request.set_callback(fail)
    request.start_async()
    with pytest.raises(LookupError, match="on purpose"):
        request.wait()
    request.set_callback(None)
    inputs = CASE.inputs()
    CASE.check([request.infer(inputs)[0]], inputs)


def test_waiting_leaves_python_to_others(slow: CompiledModel) -> None:
    """While an inference runs and one thread waits for it, another thread computes."""
    request = slow.create_infer_request()
    request.infer()
    stop = threading.Event()
    counted, interval = 0, sys.getswitchinterval()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        # With the GIL held, threads would switch only between two statements.
        sys.setswitchinterval(1000)
        for _ in range(5):
            before = counted
            while counted == before:
                request.infer(share_outputs=True)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


@pytest.mark.parametrize("callback", [False, True])
def test_a_fault_ends_one_inference_and_not_the_request(compiled: CompiledModel, callback: bool) -> None:
    """The array that the device copies from has become unreadable; once it is readable again, all is well."""
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    given = np.frombuffer(memory, np.float32, 64, 4).reshape(1, 64)
    start = given.ctypes.data - 4
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    request, other = compiled.create_infer_request(), compiled.create_infer_request()
    request.set_callback((lambda _: None) if callback else None)
    [given[...]] = CASE.inputs(9)
    other.infer(CASE.inputs(9))
    request.set_tensor("x", given)
    try:
        assert protect(start, 2 * mmap.PAGESIZE, 0) == 0
        request.start_async()
        with pytest.raises(az.DeviceLost):
            request.wait()
    finally:
        assert protect(start, 2 * mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    for _ in range(2):
        request.start_async()
        request.wait()
        CASE.check([request.get_output_tensor().data], CASE.inputs(9))
    # Which had its lists on the queues that are gone.
    other.infer()
    CASE.check([other.get_output_tensor().data], CASE.inputs(9))


# Many at a time


@pytest.mark.parametrize("with_callback", [True, False])
def test_a_queue_of_requests(compiled: CompiledModel, with_callback: bool) -> None:
    queue = AsyncInferQueue(compiled, 3)
    assert len(queue) == 3
    assert queue.is_ready()
    seeds = range(12)
    inputs = {seed: CASE.inputs(seed)[0] for seed in seeds}
    found: dict[int, Array] = {}
    if with_callback:
        queue.set_callback(lambda request, seed: found.update({seed: request.results[0]}))
    for seed in seeds:
        if not with_callback:
            place = queue.get_idle_request_id()
            assert 0 <= place < 3
        queue.start_async(inputs[seed], seed)
    queue.wait_all()
    if with_callback:
        assert sorted(found) == list(seeds)
        for seed, result in found.items():
            CASE.check([result], [inputs[seed]])
    else:
        for request, seed in zip(queue, queue.userdata, strict=True):
            CASE.check([request.results[0]], [inputs[seed]])


def test_a_queue_tells_of_failing_callbacks(compiled: CompiledModel) -> None:
    queue = AsyncInferQueue(compiled, 2)

    def fail(_request: object, number: int) -> None:
        if number == 3:
            raise LookupError("on purpose")

    queue.set_callback(fail)
    for number in range(6):
        queue.start_async(userdata=number)
    with pytest.raises(LookupError, match="on purpose"):
        queue.wait_all()
    queue.wait_all()
    with pytest.raises(az.InvalidArgument):
        queue.start_async(np.zeros(3))
    queue.start_async(userdata=0)
    queue.wait_all()


def test_threads_with_requests_of_their_own(compiled: CompiledModel) -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            request = compiled.create_infer_request()
            inputs = CASE.inputs(seed)
            [wanted] = CASE.expected(inputs)
            for _ in range(100):
                [found] = request.infer(inputs).to_tuple()
                np.testing.assert_allclose(found, wanted, atol=models.tolerance())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_models_and_requests_may_be_let_go_at_work(core: Core) -> None:
    compiled = core.compile_model(models.mlp(512, 8))
    request = compiled.create_infer_request()
    request.infer()
    result = request.get_output_tensor().data
    wanted = result.copy()
    for _ in range(5):
        result[...] = 0
        request = compiled.create_infer_request()
        request.set_output_tensor(Tensor(result))
        request.start_async()
        del request
    del compiled
    gc.collect()
    core.device.synchronize()
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("callback", ["None", "lambda _: None", "lambda _: request.start_async()"])
def test_a_process_may_end_while_inferences_run(tmp_path: Path, callback: str) -> None:
    path = tmp_path / "slow.xml"
    ov.serialize(models.mlp(1024, 2), str(path))
    program = f"""
import sys
from anyzero.npu import Core
request = Core().compile_model(sys.argv[1]).create_infer_request()
request.set_callback({callback})
request.start_async()
print("started")
"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYZERO_")}
    environment = {**kept, "ANYZERO_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")


def test_no_memory_is_lost(compiled: CompiledModel) -> None:
    request = compiled.create_infer_request()
    arrays = [np.zeros((1, 64), np.float32) for _ in range(2)]

    def resident() -> int:
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def round_(times: int) -> None:
        for number in range(times):
            request.set_tensor("x", arrays[number % 2])
            request.infer()
            if number % 20 == 0:
                compiled.infer_new_request()

    round_(300)
    gc.collect()
    before = resident()
    round_(700)
    gc.collect()
    assert resident() - before < 4 << 20
