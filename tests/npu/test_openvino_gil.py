"""Nothing that runs needs Python: many threads, a held lock, and memory that does not grow."""

from __future__ import annotations

from textwrap import dedent

from tests.npu.conftest import Client

RESIDENT = """
import gc
from pathlib import Path
def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
"""


def test_requests_finish_while_the_lock_is_held(client: Client) -> None:
    """The main thread never gives the lock up until all that it has started is done."""
    client.run("""
        import ctypes, sys
        from tests.npu import models
        holding = ctypes.PyDLL(None)
        sys.setswitchinterval(1000)
        made = ov.Core().compile_model(models.residual(channels=32, size=32, blocks=4), "NPU")
        requests = [made.create_infer_request() for _ in range(4)]
        for request in requests:
            request.infer()
        found = [request.get_output_tensor().data for request in requests]
        for _ in range(3):
            for one in found:
                one.fill(np.nan)
            for request in requests:
                request.start_async()
            while any(np.isnan(one).any() for one in found):
                holding.usleep(1000)
            for request in requests:
                request.wait()
    """)


def test_tensors_change_while_others_infer(client: Client) -> None:
    """Setting tensors is done with the lock held, inferring without."""
    client.run("""
        import threading
        from tests.npu import models
        from tests.npu.models import aligned
        case = models.case("mlp")
        made = ov.Core().compile_model(case.build(), "NPU")
        wrong = []
        def work(seed):
            try:
                request = made.create_infer_request()
                inputs = case.inputs(seed)
                wanted = case.expected(inputs)[0]
                for number in range(200):
                    tensor = ov.Tensor(aligned(inputs[0]) if number % 2 else inputs[0].copy(), shared_memory=True)
                    request.set_input_tensor(tensor)
                    request.infer()
                    assert np.allclose(request.get_output_tensor().data, wanted, atol=models.tolerance())
            except BaseException as error:
                wrong.append(error)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not wrong, wrong
    """)


def test_four_threads_on_one_queue(client: Client) -> None:
    """A thousand inferences each, on one model, which has one queue; every result is looked at."""
    client.run("""
        import threading
        from tests.npu import models
        case = models.case("mlp")
        made = ov.Core().compile_model(case.build(), "NPU")
        wrong = []
        def work(seed):
            try:
                request = made.create_infer_request()
                drawn = [case.inputs(seed + 10 * number) for number in range(4)]
                wanted = [case.expected(inputs)[0] for inputs in drawn]
                tensor = request.get_input_tensor()
                for number in range(1000):
                    tensor.data[...] = drawn[number % 4][0]
                    request.infer()
                    found = request.get_output_tensor().data
                    assert np.allclose(found, wanted[number % 4], atol=models.tolerance()), (number, found)
            except BaseException as error:
                wrong.append(error)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not wrong, wrong
    """)


def test_ten_thousand_inferences_leak_nothing(client: Client) -> None:
    client.run(
        RESIDENT
        + dedent("""
        from tests.npu import models
        request = ov.Core().compile_model(models.tiny(), "NPU").create_infer_request()
        for _ in range(2000):
            request.infer()
        before = resident()
        for _ in range(10_000):
            request.infer()
        grown = resident() - before
        assert grown < 1 << 20, grown
    """)
    )


def test_ten_thousand_in_a_queue_leak_nothing(client: Client) -> None:
    client.run(
        RESIDENT
        + dedent("""
        from tests.npu import models
        queue = ov.AsyncInferQueue(ov.Core().compile_model(models.tiny(), "NPU"), 4)
        queue.set_callback(lambda request, data: None)
        x = np.zeros((1, 16), np.float32)
        def work(count):
            for number in range(count):
                queue.start_async([x], number)
            queue.wait_all()
        work(2000)
        before = resident()
        work(10_000)
        grown = resident() - before
        assert grown < 1 << 20, grown
    """)
    )


def test_tensors_models_and_cores_leak_nothing(client: Client) -> None:
    """All objects are released: imported memory, requests, graphs, contexts."""
    client.run(
        RESIDENT
        + dedent("""
        from tests.npu import models
        from tests.npu.models import aligned
        core = ov.Core()
        model = models.mlp()
        made = core.compile_model(model, "NPU")
        request = made.create_infer_request()
        x = aligned(np.zeros((1, 64), np.float32))
        def tensors(count):
            for _ in range(count):
                request.set_input_tensor(ov.Tensor(x, shared_memory=True))
                request.infer()
        def requests(count):
            for _ in range(count):
                made.create_infer_request().infer()
        def graphs(count):
            for _ in range(count):
                core.compile_model(model, "NPU").create_infer_request().infer()
        for work, count, bytes_each in ((tensors, 1000, 200), (requests, 200, 2000), (graphs, 40, 40_000)):
            work(count)
            before = resident()
            work(count)
            grown = (resident() - before) / count
            assert grown < bytes_each, (work.__name__, grown)
    """)
    )
