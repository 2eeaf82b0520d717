"""The engine: results, ticks, several processes, and what an interruption tells."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config

from evenhand import Environment, Features, compare
from evenhand.algorithms import fucb, ucb1
from evenhand.availability import Always, Independent
from evenhand.contexts import Categories
from evenhand.delays import Custom
from evenhand.policy.selection import TopM
from evenhand.rewards import Linear, Rewards
from evenhand.simulation import parallel as engine

Tick = Callable[[int], None]


def work(name: str, steps: int, tick: Tick) -> str:
    for step in range(1, steps + 1):
        tick(step)
    return name.upper()


def results_of(
    function: Callable[..., Any], units: Any, steps: list[int], jobs: int, progress: bool | None
) -> list[Any]:
    """What the units return, in their order."""
    results: dict[int, Any] = {}
    engine.run(function, units, steps, jobs, progress, results.__setitem__)
    return [results[number] for number in range(len(units))]


UNITS = [("a", 3), ("b", 1), ("c", 2)]
STEPS = [3, 1, 2]


def test_each_unit_has_its_result() -> None:
    assert results_of(work, UNITS, STEPS, jobs=1, progress=False) == ["A", "B", "C"]


@pytest.mark.parametrize("jobs", [2, -1])
def test_several_processes_give_the_same(jobs: int) -> None:
    parent = os.getpid()

    # Not a function of the module: a worker need not be able to import the tests.
    def elsewhere(name: str, steps: int, tick: Tick) -> tuple[str, bool]:
        tick(steps)
        return name.upper(), os.getpid() != parent

    done = results_of(elsewhere, UNITS, STEPS, jobs, progress=False)
    assert [name for name, _ in done] == ["A", "B", "C"]
    if jobs == 2:
        assert all(in_another for _, in_another in done)


def test_one_unit_needs_no_other_process() -> None:
    def here(tick: Tick) -> int:
        return os.getpid()

    assert results_of(here, [()], [1], jobs=2, progress=False) == [os.getpid()]


def test_an_interruption_tells_how_much_was_done() -> None:
    def interrupted(name: str, steps: int, tick: Tick) -> None:
        if name == "c":
            tick(400)
            raise KeyboardInterrupt
        tick(steps)

    with pytest.raises(KeyboardInterrupt) as caught:
        results_of(interrupted, [("a", 3000), ("b", 3000), ("c", 3000)], [3000] * 3, jobs=1, progress=False)
    assert str(caught.value) == "interrupted: 2 of 3 parts of the work were done (6,400 of 9,000 rounds)"


def test_results_are_told_one_by_one() -> None:
    told: list[int] = []

    def counting(tick: Tick) -> int:
        return len(told)

    engine.run(counting, [(), (), ()], [1] * 3, 1, False, lambda number, result: told.append(result))
    assert told == [0, 1, 2]


def test_an_interruption_before_anything_is_done() -> None:
    def at_once(tick: Tick) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"interrupted: 0 of 2 parts of the work were done \(0 of 10 rounds\)"):
        results_of(at_once, [(), ()], [5, 5], jobs=1, progress=False)


def test_other_errors_pass_through() -> None:
    def broken(tick: Tick) -> None:
        raise ZeroDivisionError("one over nought")

    with pytest.raises(ZeroDivisionError, match="one over nought"):
        results_of(broken, [()], [1], jobs=1, progress=False)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("end", ["well", "error", "interruption"])
def test_nothing_is_left_behind(end: str, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[int] = []

    def function(tick: Tick) -> None:
        seen.append(len(list(tmp_path.iterdir())))
        if end != "well":
            raise ZeroDivisionError if end == "error" else KeyboardInterrupt

    try:
        with parallel_config("threading"):
            results_of(function, [(), ()], [1, 1], jobs=jobs, progress=False)
    except (ZeroDivisionError, KeyboardInterrupt):
        assert end != "well"
    assert set(seen) == {jobs - 1}  # the folder of the ticks was there where several processes may write them
    assert list(tmp_path.iterdir()) == []


def test_the_bar_says_that_the_engine_is_being_compiled() -> None:
    done = np.array([3, engine.COMPILING])
    assert engine._rounds(done, 8) == (3, "3 of 8 rounds; compiling the engine, once on this machine")


@pytest.mark.parametrize("jobs", [1, 2])
def test_ticks_reach_what_the_bar_looks_at(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Callable[[], tuple[int, str]]] = []
    original = engine.bar

    def bar(total: int, look: Callable[[], tuple[int, str]], show: bool | None, left: bool) -> Any:
        looked.append(look)
        return original(total, look, show, left)

    monkeypatch.setattr(engine, "bar", bar)

    def function(steps: int, tick: Tick) -> tuple[int, str]:
        tick(steps)
        return looked[0]()

    with parallel_config("threading"):
        done = results_of(function, [(3,), (5,)], [3, 5], jobs=jobs, progress=False)
    assert max(done) == (8, "8 of 8 rounds")
    assert min(done) in [(3, "3 of 8 rounds"), (5, "5 of 8 rounds"), (8, "8 of 8 rounds")]


def test_a_bar_changes_nothing_and_keeps_off_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    assert results_of(work, UNITS, STEPS, jobs=1, progress=True) == ["A", "B", "C"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("terminal", "asked", "shown"), [(True, None, True), (False, None, False), (True, False, False)]
)
def test_a_bar_is_shown_on_terminals_unless_told_otherwise(
    terminal: bool, asked: bool | None, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(engine, "_watch", lambda total, *others: told.append(total))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    results_of(work, UNITS, STEPS, jobs=1, progress=asked)
    assert told == [6] * shown


class Flat(Rewards):
    """Rewards of a user's own, with another part inside."""

    means = np.array([0.5, 0.25])

    def __init__(self, inside: Any = None) -> None:
        self.inside = inside

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return np.broadcast_to(self.means, (len(rows), lanes, 2))


def late(level: Any, arm: Any, reward: Any) -> Any:
    """Delays of a user's own."""
    return 5.0 * level


def test_classes_and_functions_in_a_part_are_found() -> None:
    world = Environment(Flat(inside=[Independent([1.0, 0.5])]), feedback=Custom(late))
    assert engine.kinds_in(world) == {Environment, Flat, Independent, Always, Custom, late}
    assert engine.kinds_in([3, "text", None, np.zeros(2), Flat, {"a": TopM()}]) == {TopM}


def test_parts_in_contexts_are_found_although_encoders_have_slots() -> None:
    people = Categories({"country": {"DE": 0.5, "FR": 0.5}})
    world = Environment(Linear([[0.9, 0.0, 0.0], [0.0, 0.8, 0.1]]), contexts=people, feedback=Custom(late))
    assert {Environment, Linear, Categories, Features, late} <= engine.kinds_in(world)


def test_only_what_is_not_installed_is_sent_along() -> None:
    assert engine._installed(sys.modules["json"])
    assert engine._installed(sys.modules["numpy"])
    assert engine._installed(sys.modules["evenhand.simulation.parallel"])
    assert not engine._installed(sys.modules[__name__])


def test_own_parts_travel_to_other_processes() -> None:
    world = Environment(Flat(), feedback=Custom(late))
    options: dict[str, Any] = {"horizon": 30, "lanes": 3, "checkpoints": 3, "progress": False}
    here, elsewhere = (compare([ucb1(), fucb(0.1)], world, jobs=jobs, **options) for jobs in (1, 2))
    for label, record in here.policies.items():
        assert (record.pulls == elsewhere.policies[label].pulls).all()


def workers_of(pid: int) -> set[Path]:
    """The folders in /proc of the processes that work for another one."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"popen_loky" in (folder / "cmdline").read_bytes():
                found.add(folder)
        except OSError:
            continue  # it ended meanwhile
    return found


def runs(process: Path) -> bool:
    """Whether a process runs; one that ended may stay in /proc until somebody asks for its status."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for the processes in /proc")
@pytest.mark.parametrize("name", ["SIGTERM", pytest.param("SIGKILL", marks=pytest.mark.slow)])
def test_workers_do_not_outlive_the_run_that_started_them(name: str, tmp_path: Path) -> None:
    config = tmp_path / "long.toml"
    config.write_text(
        "horizon = 100_000_000\nlanes = 1\ncheckpoints = 100_000\n"
        "environment.rewards = { kind = 'bernoulli', means = [0.9, 0.5] }\n"
        "[[policies]]\nalgorithm = 'ucb1'\n[[policies]]\nalgorithm = 'thompson'\n"
    )
    command = [
        sys.executable,
        "-m",
        "evenhand.cli.main",
        "simulate",
        str(config),
        "--jobs",
        "2",
        "--out",
        str(tmp_path),
    ]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = os.environ | {"TMPDIR": str(scratch)}

    def begun() -> bool:
        return any(np.fromfile(path, dtype=np.int64).all() for path in scratch.glob("evenhand-*/done"))

    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as run:
        try:
            wait_until(begun)
            workers = workers_of(run.pid)
            run.send_signal(getattr(signal, name))
            run.wait(60.0)
            wait_until(lambda: not any(map(runs, workers)))
        finally:
            run.kill()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.toml", "scratch"]
    if name == "SIGTERM":
        assert list(scratch.iterdir()) == []
