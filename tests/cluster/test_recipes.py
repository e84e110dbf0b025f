"""The recipes of docs/cluster.md: dask-jobqueue and dask-kubernetes start our workers with their own options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import anyzero as az
from anyzero.cluster.worker import _plan
from anyzero.tools.cli import _parser
from tests.patience import PATIENCE

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


def recipe(call: str) -> dict[str, Any]:
    """The keywords of a call in the page."""
    found = re.search(rf"{call}\((.*?)\)\n", PAGE.read_text(), re.DOTALL)
    assert found
    options: dict[str, Any] = eval(f"dict({found[1]})")
    return options


@pytest.mark.filterwarnings("ignore::UserWarning")  # a port that is taken
def test_a_job_of_slurm_runs_our_workers() -> None:
    jobqueue = pytest.importorskip("dask_jobqueue")
    options = recipe("SLURMCluster")
    where = {"interface": "lo", "scheduler_options": {"dashboard": False, "dashboard_address": "127.0.0.1:0"}}
    with jobqueue.SLURMCluster(**options, **where) as cluster:
        (line,) = (line for line in cluster.job_script().splitlines() if options["worker_command"] in line)
        words = shlex.split(line)
        assert words[1:3] == ["-m", "anyzero.cluster.worker"]
        plans = _plan(_parser().parse_args(["worker", *words[3:]]))
    assert len(plans) == options["processes"]
    assert {plan["nthreads"] for plan in plans} == {1}
    total = sum(plan["memory_limit"] for plan in plans)
    assert total == pytest.approx(64e9, rel=0.01)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::UserWarning")
def test_a_job_on_this_machine_joins_the_cluster(tmp_path: Path) -> None:
    """The job script itself, run by the job system of dask-jobqueue that needs none."""
    local = pytest.importorskip("dask_jobqueue.local")
    from distributed import Client

    options = {**recipe("SLURMCluster"), "cores": 2, "processes": 2, "memory": "1GB"}
    options["worker_extra_args"] = ["--devices", "cpu:tiles=2", "--nthreads", "1", "--no-dashboard"]
    where = {"interface": "lo", "scheduler_options": {"dashboard": False, "dashboard_address": "127.0.0.1:0"}}
    with (
        local.LocalCluster(**options, **where, local_directory=str(tmp_path)) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        cluster.scale(jobs=1)
        client.wait_for_workers(2, timeout=PATIENCE)
        assert [device.backend for device in az.cluster.devices(client)] == ["cpu", "cpu"]


def test_a_pod_of_kubernetes_runs_our_workers() -> None:
    operator = pytest.importorskip("dask_kubernetes.operator")
    options = recipe("KubeCluster")
    spec = operator.make_cluster_spec(**options)
    (container,) = spec["spec"]["worker"]["spec"]["containers"]
    assert container["image"] == options["image"]
    # The operator adds the address of the scheduler and the worker's name as variables.
    chosen = _parser().parse_args(container["args"][1:])
    assert container["args"][:2] == ["anyzero", "worker"]
    assert (chosen.scheduler, chosen.dashboard_address) == (None, "8788")
