"""Runs the units of a sweep: in this process, in processes of loky (joblib's), on Dask, or on Ray, by one loop."""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.experimental import experimental
from evenhand.simulation import parallel
from evenhand.studies.units import Builder, Failure, Result, Unit, Work, run_work

BACKENDS = ("local", "dask", "ray")
PATIENCE = 3  # times that all workers may end while no unit is finished
DESERTED = 300.0  # seconds that a Dask cluster may be without any worker
TRANSFER = 60.0  # seconds that a result may take from a worker to this process
SHORT = 0.05  # processor seconds that units together take; handing them out, and writing a file, take thousandths
MOST = 64  # units together

Done = list[tuple[Unit, Result]]
Task = tuple[list[Unit], Work]


class Job(Protocol):
    """Units that workers run: a future, which loky, Dask and Ray all have."""

    def done(self) -> bool:
        """Whether it is finished."""

    def result(self, timeout: float) -> tuple[list[Result], float]:
        """What `run_work` returned; an error if its worker ended."""


@dataclass
class Workers:
    """Who runs units: how they are handed out, how many at a time, and a check, made while nothing is finished."""

    submit: Callable[[bytes], Job]
    slots: int
    check: Callable[[float], None] = lambda moved: None


@dataclass
class Pool:
    """Where units run: ``jobs`` processes on this machine (−1 for every core), or the cluster at ``address``."""

    jobs: int = 1
    backend: str = "local"
    address: str = ""
    under_way: int = 0
    together: int = 1  # units of a task: more where they are short

    def run(self, units: list[Unit], builder: Builder) -> Iterator[Done]:
        """Units with their results as soon as they are there: a `Failure` if one cannot be run or ends its worker."""
        validate.one_of("backend", self.backend, BACKENDS)
        if validate.whole("jobs", self.jobs, low=-1) == 0:
            raise EvenhandError("must be at least 1, or -1 for every core, got 0", "jobs")
        if self.backend == "local" and self.address:
            raise EvenhandError("an address belongs to a cluster: give the backend, 'dask' or 'ray', too")
        if self.backend != "local":
            experimental("sweeps on Dask and Ray")
        faults: Done = []
        run = self._in_turn if self.backend == "local" and self.jobs == 1 else self._elsewhere
        for done in run(self._tasks(iter(units), builder, faults), builder):
            yield [*faults, *done]
            faults.clear()
        yield faults

    def _tasks(self, units: Iterator[Unit], builder: Builder, faults: Done) -> Iterator[Task]:
        """Units made ready, in this process; one that cannot be joins the faults."""
        while batch := list(itertools.islice(units, self.together)):
            ready, work = list[Unit](), Work()
            for some, setup in builder.setups(batch):
                if isinstance(setup, Failure):
                    faults += [(unit, setup) for unit in some]
                else:
                    ready += some
                    work.append((setup, [unit.label for unit in some]))
            if ready:
                yield ready, work

    def _joined(self, task: Task, returned: tuple[list[Result], float]) -> Done:
        """Units with their results; if they were short, more are handed out together from now on."""
        results, seconds = returned
        if seconds > 2 * SHORT:
            self.together = max(1, self.together // 2)
        elif seconds < SHORT / 2 and len(task[0]) == self.together:
            self.together = min(MOST, 2 * self.together)
        return list(zip(task[0], results, strict=True))

    def _in_turn(self, tasks: Iterator[Task], builder: Builder) -> Iterator[Done]:
        for task in tasks:
            self.under_way = len(task[0])
            yield self._joined(task, run_work(task[1]))
            self.under_way = 0

    def _elsewhere(self, tasks: Iterator[Task], builder: Builder) -> Iterator[Done]:
        """Units side by side; again, each by itself, those whose worker ended, as another one may have ended it."""
        # joblib's backends for clusters were tried (joblib 1.6, Ray 2.60, Dask 2026.8). Ray's returns nothing before
        # all is finished (ValueError for return_as="generator_unordered"), so that a sweep that is killed would lose
        # it, and with one process it runs units in this one, which a deadly unit ends. Dask's returned nothing
        # in two runs of 100 and 150 s on a busy machine, in which one of ten units of half a second ended its worker.
        connect = {"local": _processes, "dask": _dask, "ray": _ray}[self.backend]
        with connect(self.address, self.jobs) as workers:
            suspects: list[tuple[Unit, Exception]] = []
            yield from self._side_by_side(workers, tasks, workers.slots, suspects)
            for unit, _ in suspects:
                ended: list[tuple[Unit, Exception]] = []
                yield from self._side_by_side(workers, self._tasks(iter([unit]), builder, []), 1, ended)
                for _, error in ended:
                    reason = f"perhaps for want of memory: {_first_sentence(error)}"
                    yield [(unit, Failure(f"it ended the process that ran it, {reason}"))]

    def _side_by_side(
        self, workers: Workers, tasks: Iterator[Task], slots: int, ended: list[tuple[Unit, Exception]]
    ) -> Iterator[Done]:
        """The results of units, at most ``slots`` tasks at a time; those whose worker ended join ``ended``."""
        import cloudpickle

        jobs: dict[Job, Task] = {}
        moved = asked = time.monotonic()
        lost = 0  # since a unit was finished
        while True:
            for task in itertools.islice(tasks, slots - len(jobs)):
                # By value: workers may not be able to import what this process can.
                jobs[workers.submit(cloudpickle.dumps(task[1]))] = task
            self.under_way = sum(len(units) for units, _ in jobs.values())
            if not jobs:
                return
            done = [job for job in jobs if job.done()]
            for job in done:
                task = jobs.pop(job)
                try:
                    returned = job.result(timeout=TRANSFER)
                except Exception as error:  # `run_work` returns its own
                    ended += [(unit, error) for unit in task[0]]
                    lost += 1
                    if lost == PATIENCE * workers.slots:
                        message = f"workers ended {lost} times in a row, the last with: {_first_sentence(error)}"
                        raise EvenhandError(message) from None
                else:
                    lost, moved = 0, time.monotonic()
                    yield self._joined(task, returned)
            if not done:
                time.sleep(0.01)
                if time.monotonic() > asked + 1.0:
                    workers.check(moved)
                    asked = time.monotonic()


@contextmanager
def _processes(address: str, jobs: int) -> Iterator[Workers]:
    from joblib.externals.loky import get_reusable_executor

    number = parallel.processes(jobs)

    def submit(work: bytes) -> Job:
        while True:
            executor = get_reusable_executor(max_workers=number)  # another one, if the last one's workers have ended
            try:
                job: Job = executor.submit(_run, work, os.getpid())
            except BrokenExecutor:  # they ended just now
                continue
            return job

    try:
        yield Workers(submit, 2 * number)
    except BaseException:
        get_reusable_executor(max_workers=number).shutdown(kill_workers=True)
        raise
    get_reusable_executor(max_workers=number).shutdown()  # joblib would go on with it, and misses what it adds itself


@contextmanager
def _dask(address: str, jobs: int) -> Iterator[Workers]:
    """A Dask cluster, which runs a task anew whose worker ended."""
    import dask.config
    from distributed import Client, LocalCluster

    own = None
    try:
        if not address:
            number = None if jobs < 0 else jobs
            own = LocalCluster(number, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL)
        client = Client(own or address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EvenhandError(f"there is no Dask scheduler at {address!r}: {_first_sentence(error)}") from None
    seen = time.monotonic()  # any worker

    def check(moved: float) -> None:
        nonlocal seen
        seen = time.monotonic() if client.nthreads() else max(seen, moved)
        if time.monotonic() > seen + DESERTED:
            place = client.scheduler.address
            raise EvenhandError(
                f"the Dask cluster at {place} has had no worker for {DESERTED:g} s: start some, for example with "
                f"`dask worker {place}`, and run the sweep again, which continues where it keeps its results"
            )

    def submit(work: bytes) -> Job:
        job: Job = client.submit(_run, work, pure=False)
        return job

    # Dask gives up a worker of its own that is not back after 15 s, as on a busy machine: soon there would be none.
    lasting = dask.config.set({"distributed.deploy.lost-worker-timeout": f"{DESERTED} s"})
    try:
        with lasting:
            yield Workers(submit, 2 * max(1, sum(client.nthreads().values())), check)
    finally:
        client.close()
        if own is not None:
            own.close()


@contextmanager
def _ray(address: str, jobs: int) -> Iterator[Workers]:
    """A Ray cluster, which runs a task anew whose worker ended."""
    import ray

    place = re.fullmatch(r"(?:ray://)?\[?([^/\]]+?)\]?:(\d+)", address)
    cpus = None if address or jobs < 0 else jobs
    started = not ray.is_initialized()
    try:
        if place is not None:  # Ray itself would try for many minutes
            socket.create_connection((place[1], int(place[2])), timeout=10).close()
        if started:
            quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
            ray.init(address or "local", num_cpus=cpus, **quiet)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        raise EvenhandError(f"there is no Ray cluster at {address!r}: {_first_sentence(error)}") from None
    remote = ray.remote(num_cpus=1)(_run)

    def submit(work: bytes) -> Job:
        job: Job = remote.remote(work).future()
        return job

    try:
        yield Workers(submit, 2 * max(1, int(ray.cluster_resources().get("CPU", 1))))
    finally:
        if started:
            ray.shutdown()


def _run(work: bytes, parent: int = 0) -> tuple[list[Result], float]:
    if parent:
        parallel.end_with(parent)
    return run_work(pickle.loads(work))


def _first_sentence(error: Exception) -> str:
    """The message of an error of another library, without its advice."""
    return f"{type(error).__name__}: {error}".partition("\n")[0].partition(". ")[0].strip()
