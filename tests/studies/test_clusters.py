"""Sweeps on local clusters of Dask and Ray."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenhand import sweep
from evenhand.core.errors import EvenhandError
from evenhand.studies import pool
from evenhand.studies.store import Store
from evenhand.studies.study import Study

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("default")]
AXES = {"policies[0].eta": [1, 2, 3, 4, 5, 6, 7, 8]}


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_changes_no_digit(config: dict[str, Any], backend: str) -> None:
    pd.testing.assert_frame_equal(sweep(config, AXES, backend=backend, jobs=2).lanes(), sweep(config, AXES).lanes())


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_parts_of_ones_own_travel_and_a_deadly_one_costs_only_itself(config: dict[str, Any], backend: str) -> None:
    config["policies"][1] = {"label": "deadly", "algorithm": "own_part:deadly"}
    study = Study.of(config, AXES, folder=Path(__file__).parent)
    results = sweep(study, backend=backend, jobs=2)
    (failure,) = results.failures.values()
    assert failure["policy"] == "deadly"
    assert failure["error"].startswith("it ended the process that ran it")
    config["policies"].pop()
    pd.testing.assert_frame_equal(results.lanes("reward"), sweep(config, AXES).lanes("reward"))


def test_a_worker_that_is_back_late_is_not_given_up(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a busy machine, where workers are back after Dask's 15 s: here they would have a hundredth of one."""
    import dask.config

    monkeypatch.setattr(pool, "DESERTED", 20.0)
    config["policies"][1] = {"label": "deadly", "algorithm": "own_part:deadly"}
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "10 ms"}):
        results = sweep(Study.of(config, AXES, folder=Path(__file__).parent), backend="dask", jobs=2)
    assert [failure["policy"] for failure in results.failures.values()] == ["deadly"]


@contextmanager
def dask_cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers as processes: the address, and the workers."""
    place = ["--scheduler-file", str(folder / "scheduler.json")]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *place]
    processes = [subprocess.Popen(scheduler, **quiet)]
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", *place]
    processes += [subprocess.Popen([*dask, "worker", *options], **quiet) for _ in range(workers)]
    try:
        from distributed import Client

        client = Client(scheduler_file=place[1], timeout=60, set_as_default=False)
        client.wait_for_workers(workers, timeout=60)
        address = client.scheduler.address
        client.close()
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_worker_that_is_killed_costs_nothing(config: dict[str, Any], tmp_path: Path) -> None:
    """Two workers, one of which is killed in the middle."""
    config |= {"horizon": 3000, "lanes": 20}
    with dask_cluster(tmp_path, workers=2) as (url, workers):
        killer = threading.Thread(target=_kill_after, args=(Store(tmp_path / "out"), 2, workers[0].pid))
        killer.start()
        results = sweep(config, AXES, out=tmp_path / "out", backend="dask", address=url)
        killer.join()
        workers[0].wait(timeout=10)
    assert not results.failures
    pd.testing.assert_frame_equal(results.lanes(), sweep(config, AXES).lanes())


def test_a_cluster_without_workers_is_not_waited_for_without_end(
    config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only worker is killed in the middle; what was finished before is kept."""
    monkeypatch.setattr(pool, "DESERTED", 2.0)
    config |= {"horizon": 3000, "lanes": 20}
    out = tmp_path / "out"
    with dask_cluster(tmp_path, workers=1) as (url, (worker,)):
        killer = threading.Thread(target=_kill_after, args=(Store(out), 2, worker.pid))
        killer.start()
        with pytest.raises(EvenhandError, match=f"the Dask cluster at {url} has had no worker for 2 s: start some"):
            sweep(config, AXES, out=out, backend="dask", address=url)
        killer.join()
    assert 2 <= len(Store(out).finished()) < 9  # units: eight values, and the policy that all settings share


def _kill_after(store: Store, finished: int, process: int) -> None:
    while len(store.finished()) < finished:
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize(
    ("backend", "address", "message"),
    [
        ("dask", "tcp://127.0.0.1:9", "there is no Dask scheduler at 'tcp://127.0.0.1:9'"),
        ("ray", "127.0.0.1:9", "there is no Ray cluster at '127.0.0.1:9'"),
    ],
)
def test_a_cluster_that_is_not_there_is_named(config: dict[str, Any], backend: str, address: str, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        sweep(config, AXES, backend=backend, address=address)
