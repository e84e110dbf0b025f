"""Models as a service: batches, a queue with an end, replicas that die, and metrics."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.cluster import metrics, replica
from anyzero.cluster.serving import Service
from tests.cluster import tasks
from tests.patience import PATIENCE


def doubled(x: Any) -> Any:
    return x * 2


def rows_and_sums(inputs: Any) -> Any:
    """How many samples ran together, and a sum, for each of them."""
    a, b = inputs["a"], inputs["b"]
    return np.full(len(a), len(a)), a.sum(axis=1) + b.sum(axis=1)


def broken(x: Any) -> Any:
    raise ValueError("no such picture")


def test_requests_get_their_own_results(client: Any, workers: list[str]) -> None:
    with az.cluster.serve(doubled, batch=4, client=client) as service:
        assert service.replicas == workers
        asked = [service.submit(np.full((1 + n % 3, 2), n)) for n in range(40)]
        for n, result in enumerate(asked):
            found = result.result(PATIENCE)
            assert found.shape == (1 + n % 3, 2)
            assert (found == 2 * n).all()
        told = service.statistics()
        assert told.requests == 40
        assert told.batches >= 20  # of no more than four samples
        assert 0 < told.p50 <= told.p99
    with pytest.raises(az.ClosedError):
        service.submit(np.ones((1, 2)))


def test_requests_that_wait_run_together(client: Any, workers: list[str]) -> None:
    with az.cluster.serve(rows_and_sums, batch=3, wait=PATIENCE, client=client) as service:
        # The third completes the batch; until then the first two wait for it.
        asked = [service.submit({"a": np.full((1, 2), n), "b": np.ones((1, 5))}) for n in range(3)]
        for n, result in enumerate(asked):
            rows, total = result.result(PATIENCE)
            assert rows == [3]
            assert total == [2 * n + 5]


def test_an_error_of_the_model_is_the_requests(client: Any, workers: list[str]) -> None:
    with az.cluster.serve(broken, client=client) as service:
        with pytest.raises(ValueError, match="no such picture"):
            service(np.ones((1, 1)), PATIENCE)
        assert service.statistics().retries == 0
        with pytest.raises(az.InvalidArgument, match="more than a batch"):
            service.submit(np.ones((9, 1)))
        with pytest.raises(az.InvalidArgument, match="first axis"):
            service.submit(3)


class Stuck:
    """A client whose tasks never end, so that what waits stays where it is."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def scatter(self, value: Any, **_: Any) -> Any:
        return value

    def submit(self, *args: Any, **_: Any) -> Any:
        self.sent.append(args)
        return self

    def add_done_callback(self, _: Any) -> None:
        pass


def test_a_full_queue_pushes_back() -> None:
    client = Stuck()
    model = replica.ServedModel("stuck", (b"",), {})
    service = Service(client, model, ["a"], batch=1, wait=0, queue=2, in_flight=1, retries=0)  # type: ignore[arg-type]
    try:
        service.submit(np.ones((1, 1)), timeout=None)
        # The second and the third wait once the first has left the queue.
        waiting = [service.submit(np.ones((1, 1)), timeout=None) for _ in range(2)]
        with pytest.raises(az.cluster.Overloaded, match="queue"):
            service.submit(np.ones((1, 1)))
        assert service.statistics().waiting == 2
        assert len(client.sent) == 1  # no more than in_flight
    finally:
        service.close()
    assert all(result.cancelled() for result in waiting)


def test_a_batch_whose_replica_died_runs_elsewhere(client: Any, workers: list[str], tmp_path: Any) -> None:
    marker = str(tmp_path / "killed")

    def fatal(x: Any) -> Any:
        return x * tasks.die_once(marker, 2)

    with az.cluster.serve(fatal, batch=2, client=client) as service:
        asked = [service.submit(np.full((1, 1), n), timeout=None) for n in range(12)]
        assert [result.result(PATIENCE).item() for result in asked] == [2 * n for n in range(12)]
        assert (tmp_path / "killed").exists()
    client.wait_for_workers(2, timeout=PATIENCE)


def test_workers_report_latencies(client: Any, workers: list[str]) -> None:
    pytest.importorskip("prometheus_client")
    with az.cluster.serve(doubled, batch=1, client=client) as service:
        for _ in range(4):
            service(np.ones((1, 1)), PATIENCE)

    def reported() -> str:
        import prometheus_client

        return prometheus_client.generate_latest().decode()

    text = "".join(client.run(reported).values())
    for name in ("requests_total", "batches_total", "throughput", 'latency_seconds{model="doubled",quantile="0.99"}'):
        assert f"anyzero_serve_{name}" in text


def test_no_npu_is_an_error(client: Any, workers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = replica.ServedModel("picture", (b"<xml/>", b""), {})
    monkeypatch.setattr("anyzero.cluster.serving.served", lambda *_, **__: (model, 8))
    with pytest.raises(az.DeviceNotFound, match="--device npu"):
        az.cluster.serve("picture.xml", client=client)


def test_a_window_counts_what_is_recent() -> None:
    window = metrics.Window()
    assert window.quantile(0.5) == window.throughput() == 0
    window.add([0.1] * 99 + [5.0])
    assert window.quantile(0.5) == pytest.approx(0.1)
    assert window.quantile(0.99) > 0.1
    window.times[0] = (time.monotonic() - 1000, 100)
    assert window.throughput() == 0


def test_a_model_is_made_once_in_a_process() -> None:
    made: list[int] = []
    first = replica.ServedModel("m", (replica.cloudpickle.dumps(doubled),), {})
    again = replica.ServedModel("m", first.parts, {})
    functions = []

    def make() -> None:
        functions.append(replica._replica(first if made else again))
        made.append(1)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, functions))) == 1
    results = replica.infer(first, {0: np.arange(3)}, [1, 2], [0.0, 0.0])
    assert [each.tolist() for each in results] == [[0], [2, 4]]
    short = replica.ServedModel("short", (replica.cloudpickle.dumps(lambda x: x[:1]),), {})
    with pytest.raises(az.InvalidArgument, match="1 rows for 3 samples"):
        replica.infer(short, {0: np.arange(3)}, [1, 2], [0.0, 0.0])
