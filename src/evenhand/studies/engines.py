"""What runs tasks: this process, processes on this machine (joblib's loky), Dask, or Ray."""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import re
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.simulation.setup import Setup
from evenhand.studies.units import Failure, UnitResult, run_unit

BACKENDS = ("local", "dask", "ray")
PATIENCE = 3  # times that workers may end in a row without any task being finished in between
RETRIES = 3  # of a task whose worker on a cluster ended
DESERTED = 300.0  # seconds that a Dask cluster may be without any worker
TRANSFER = 60.0  # seconds that a result may take from a worker of Dask to this process

Task = tuple[str, Setup]
Result = UnitResult | Failure
#: Runs tasks, which it takes as workers become free; yields the results, by key, as they are finished.
Engine = Callable[[Iterator[Task]], Iterator[tuple[str, Result]]]


@contextmanager
def engine(backend: str = "local", jobs: int = 1, address: str = "") -> Iterator[Engine]:
    """An engine for the block.

    A task that fails, or whose worker ends again and again, gives a `Failure`.

    Args:
        backend: ``"local"``, ``"dask"`` or ``"ray"``.
        jobs: processes on this machine; −1 uses every core. A cluster that exists uses all its workers.
        address: of the cluster's scheduler; empty for a cluster that is started on this machine.

    Raises:
        EvenhandError: the backend is unknown, or the cluster cannot be reached.

    Example:
        >>> with engine() as run:
        ...     print(list(run(iter([]))))
        []
    """
    validate.one_of("backend", backend, BACKENDS)
    if validate.whole("jobs", jobs, low=-1) == 0:
        raise EvenhandError("jobs must be at least 1, or -1 for every core, got 0")
    if backend == "local":
        if address:
            raise EvenhandError("an address belongs to a cluster: give the backend, 'dask' or 'ray', too")
        yield _in_turn if jobs == 1 else lambda tasks: _in_processes(tasks, jobs)
        return
    connected = _dask(address, jobs) if backend == "dask" else _ray(address, jobs)
    with connected as run:
        yield run


def _in_turn(tasks: Iterator[Task]) -> Iterator[tuple[str, Result]]:
    for key, setup in tasks:
        yield key, run_unit(setup)


def _in_processes(tasks: Iterator[Task], jobs: int) -> Iterator[tuple[str, Result]]:
    """Tasks in processes of joblib. When one of these ends, what was under way is run again, each by itself."""
    under_way: dict[str, Setup] = {}
    suspects: dict[str, Setup] = {}
    ended = 0

    def handed_out() -> Iterator[Task]:
        for key, setup in tasks:
            under_way[key] = setup
            yield key, setup

    while True:
        finished = False
        try:
            for key, result in _by_joblib(handed_out(), jobs):
                finished = True
                del under_way[key]
                yield key, result
            break
        except _WorkerEnded as error:
            ended = 1 if finished else ended + 1
            if ended == PATIENCE:
                raise EvenhandError(f"workers ended {ended} times in a row, the last with: {error}") from None
            suspects |= under_way
            under_way.clear()
    for key, setup in suspects.items():
        try:
            yield from _by_joblib(iter([(key, setup)]), jobs)
        except _WorkerEnded as error:
            yield key, _ended(error)


def _by_joblib(tasks: Iterator[Task], jobs: int) -> Iterator[tuple[str, Result]]:
    from joblib import Parallel, delayed

    parent = os.getpid()
    calls = (delayed(_run)(key, setup, parent) for key, setup in tasks)
    results: Any = Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered")(calls)
    try:
        yield from results
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except Exception as error:
        raise _WorkerEnded(_first_sentence(error)) from None
    finally:
        results.close()


@contextmanager
def _dask(address: str, jobs: int) -> Iterator[Engine]:
    """Tasks on a Dask cluster, which runs a task anew whose worker ended."""
    import cloudpickle
    from distributed import Client, LocalCluster

    own = None
    try:
        if not address:
            workers = {"n_workers": None if jobs < 0 else jobs, "threads_per_worker": 1, "dashboard_address": None}
            own = LocalCluster(silence_logs=logging.CRITICAL, **workers)
        client = Client(own or address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EvenhandError(f"there is no Dask scheduler at {address!r}: {_first_sentence(error)}") from None

    def run(tasks: Iterator[Task]) -> Iterator[tuple[str, Result]]:
        """Tasks side by side, and again by themselves if their worker ended, perhaps by another task."""
        suspects: list[tuple[str, Setup, BaseException]] = []
        yield from together(tasks, 2 * max(1, sum(client.nthreads().values())), suspects)
        for key, setup, _ in suspects:
            ended: list[tuple[str, Setup, BaseException]] = []
            yield from together(iter([(key, setup)]), 1, ended)
            for _, _, error in ended:
                yield key, _ended(error)

    def together(
        tasks: Iterator[Task], number: int, ended: list[tuple[str, Setup, BaseException]]
    ) -> Iterator[tuple[str, Result]]:
        from distributed import as_completed

        results = as_completed(loop=client.loop)
        under_way: dict[str, tuple[str, Setup, int]] = {}

        def submit(key: str, setup: Setup, attempt: int = 0) -> None:
            # By value, as Dask sends by reference what this process can import, and workers may not.
            future = client.submit(_unpickled, cloudpickle.dumps(setup), key=f"{key}-{uuid.uuid4().hex}", pure=False)
            under_way[future.key] = key, setup, attempt
            results.add(future)

        for key, setup in itertools.islice(tasks, number):
            submit(key, setup)
        while under_way:
            future = _next_of(results, client)
            for key, setup in itertools.islice(tasks, 1):
                submit(key, setup)
            key, setup, attempt = under_way.pop(future.key)
            try:
                result: Result = future.result(timeout=TRANSFER)
            except TimeoutError:  # its worker ended before it could send the result, which Dask may not notice
                if attempt < RETRIES:
                    submit(key, setup, attempt + 1)
                    continue
                result = Failure("its workers ended before they could send the result")
            except Exception as error:  # run_unit returns its own errors
                ended.append((key, setup, error))
                continue
            yield key, result

    try:
        yield run
    finally:
        client.close()
        if own is not None:
            own.close()


def _next_of(results: Any, client: Any) -> Any:
    """The next future of Dask that is finished; an error if the cluster is without any worker for too long."""
    asked = seen = time.monotonic()
    while not results.has_ready():
        with results.thread_condition:
            results.thread_condition.wait(0.1)
        if time.monotonic() < asked + 1.0:
            continue
        asked = time.monotonic()
        if client.nthreads():
            seen = asked
        elif asked > seen + DESERTED:
            address = client.scheduler.address
            raise EvenhandError(
                f"the Dask cluster at {address} has had no worker for {DESERTED:g} s: start some, for example with "
                f"`dask worker {address}`, and run the sweep again, which continues where it keeps its results"
            )
    return next(results)


@contextmanager
def _ray(address: str, jobs: int) -> Iterator[Engine]:
    """Tasks on a Ray cluster, which runs a task anew whose worker ended."""
    import cloudpickle
    import ray

    _reach(address)
    started = not ray.is_initialized()
    own: dict[str, Any] = {} if address else {"num_cpus": None if jobs < 0 else jobs, "include_dashboard": False}
    try:
        if started:
            ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise EvenhandError(f"there is no Ray cluster at {address!r}: {_first_sentence(error)}") from None
    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_unpickled)

    def run(tasks: Iterator[Task]) -> Iterator[tuple[str, Result]]:
        under_way: dict[Any, str] = {}

        def submit(number: int) -> None:
            for key, setup in itertools.islice(tasks, number):
                # By value, as parts of the user's own are registered with cloudpickle, not with Ray's copy of it.
                under_way[remote.remote(cloudpickle.dumps(setup))] = key

        submit(2 * max(1, int(ray.cluster_resources().get("CPU", 1))))
        while under_way:
            (done,), _ = ray.wait(list(under_way), num_returns=1)
            submit(1)
            key = under_way.pop(done)
            try:
                result: Result = ray.get(done)
            except ray.exceptions.RayError as error:
                result = _ended(error)
            yield key, result

    try:
        yield run
    finally:
        if started:
            ray.shutdown()


def _reach(address: str) -> None:
    """Complain at once if nothing listens at the address of a Ray cluster; Ray itself would try for many minutes."""
    place = re.fullmatch(r"(?:ray://)?\[?([^/\]]+?)\]?:(\d+)", address)
    if place is None:
        return
    try:
        socket.create_connection((place[1], int(place[2])), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise EvenhandError(f"there is no Ray cluster at {address!r}: {_first_sentence(error)}") from None


class _WorkerEnded(Exception):
    """A worker ended before its task was finished."""


def _run(key: str, setup: Setup, parent: int) -> tuple[str, Result]:
    return key, run_unit(setup, parent)


def _unpickled(setup: bytes) -> Result:
    return run_unit(pickle.loads(setup))


def _ended(error: BaseException) -> Failure:
    return Failure(f"it ended the process that ran it, perhaps for want of memory: {_first_sentence(error)}")


def _first_sentence(error: BaseException) -> str:
    """The message of an error of another library, without its advice."""
    text = str(error) if isinstance(error, _WorkerEnded) else f"{type(error).__name__}: {error}"
    return text.partition("\n")[0].partition(". ")[0].strip()
