"""Sweeps: what they return, what they keep, and what happens when they are stopped."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from evenhand import compare, sweep
from evenhand.core.errors import DataError, EvenhandError
from evenhand.simulation.code_version import code_version
from evenhand.simulation.verdicts import verdicts
from evenhand.studies import pool
from evenhand.studies import store as storing
from evenhand.studies import sweep as sweeping
from evenhand.studies.configuration import parse
from evenhand.studies.results import SweepResults
from evenhand.studies.store import Store
from evenhand.studies.study import Study
from evenhand.studies.sweep import merge, status
from evenhand.studies.units import units_of
from tests.thinned import thinned

AXES = {"policies[0].eta": [1, 10], "horizon": [40, 60]}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The labels of the units that run, in this process."""
    labels: list[str] = []
    save = Store.save

    def noted(self: Store, done: Any) -> None:
        labels.extend(unit.label for unit, _ in done)
        save(self, done)

    monkeypatch.setattr(Store, "save", noted)
    return labels


def test_every_setting_is_what_compare_returns(config: dict[str, Any]) -> None:
    results = sweep(config, AXES)
    for setting in results.study.settings():
        setup = parse({**setting.config, "checkpoints": 1})
        alone = compare(setup.policies, setup.environment, setup.horizon, setup.lanes, setup.seed, checkpoints=1)
        found = results.results(setting.number)
        assert list(found.policies) == list(alone.policies)
        assert found.information == alone.information
        for label, policy in alone.policies.items():
            np.testing.assert_array_equal(found.policies[label].pulls, policy.pulls)
            np.testing.assert_array_equal(found.policies[label].estimate, policy.estimate)
            assert set(found.policies[label].curves) == set(policy.curves)
            for name, curve in policy.curves.items():
                np.testing.assert_array_equal(found.policies[label].curves[name], curve)
        assert found.final() == alone.final()


def test_the_tables_are_tidy(config: dict[str, Any]) -> None:
    config["checkpoints"] = [20]
    results = sweep(config, AXES)
    summary = results.summary("regret", "unfairness")
    assert list(summary) == ["setting", "eta", "horizon", "policy", "round", "measure", "n", "mean", "stderr"]
    assert len(summary) == 4 * 2 * 2 * 2  # settings, policies, checkpoints, measures
    assert not summary.duplicated(["setting", "policy", "round", "measure"]).any()
    lanes = results.lanes("regret")
    assert len(lanes) == 4 * 2 * 2 * 4
    keys = ["setting", "policy", "round"]
    means = lanes.groupby(keys)["regret"].agg(["mean", "sem"]).reset_index()
    both = means.merge(summary[summary["measure"] == "regret"], on=keys)
    np.testing.assert_allclose(both["mean_x"], both["mean_y"])
    np.testing.assert_allclose(both["sem"], both["stderr"])
    assert results.settings().to_dict("list") == {
        "setting": [0, 1, 2, 3],
        "eta": [1, 1, 10, 10],
        "horizon": [40, 60] * 2,
    }


def test_promises_of_every_setting_are_judged(config: dict[str, Any]) -> None:
    results = sweep(config, AXES)
    found = [verdict for number in range(4) for verdict in verdicts(results.results(number)).values()]
    expected = [(verdict.label, *case.to_json().values()) for verdict in found for case in verdict.cases]
    columns = ["policy", *found[0].cases[0].to_json()]
    pd.testing.assert_frame_equal(results.promises()[columns], pd.DataFrame(expected, columns=columns))


def test_differences_are_paired(config: dict[str, Any]) -> None:
    results = sweep(config, AXES)
    lanes = results.lanes("reward").pivot_table(index=["setting", "lane"], columns="policy", values="reward")
    differences = (lanes["eta_fucb"] - lanes["UCB"]).groupby("setting")
    table = results.differences("UCB", "reward")
    assert set(table["policy"]) == {"eta_fucb"}
    np.testing.assert_allclose(table["mean"], differences.mean())
    np.testing.assert_allclose(table["stderr"], differences.sem())
    assert (table["high"] - table["mean"]).to_numpy() == pytest.approx(3.182446 * table["stderr"])  # t of 3 degrees
    with pytest.raises(EvenhandError, match="there is no policy 'ucb'"):
        results.differences("ucb")
    with pytest.raises(EvenhandError, match="there is no measure 'regrets'; did you mean 'regret'"):
        results.summary("regrets")


def test_without_a_finished_unit_there_is_no_measure(config: dict[str, Any]) -> None:
    config["environment"] = {**config["environment"], "fractions": [0.1, 0.1, 0.1]}  # of two arms
    results = sweep(config, AXES)
    with pytest.raises(EvenhandError, match=r"'regret', as no unit is finished; `evenhand sweep status` shows why"):
        results.summary("regret")


def test_processes_change_no_digit_and_a_comparison_can_follow(config: dict[str, Any]) -> None:
    """Both take joblib's workers; a sweep ends those that it started."""
    one, two = (sweep(config, AXES, jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.lanes(), two.lanes())
    setup = parse(config)
    policies = dict.fromkeys(("one", "other"), next(iter(setup.policies.values())))
    results = compare(policies, setup.environment, 40, lanes=150, jobs=2, progress=False)
    assert (results.policies["one"].pulls == results.policies["other"].pulls).all()


def test_what_is_finished_is_never_run_again(config: dict[str, Any], tmp_path: Path, ran: list[str]) -> None:
    first = sweep(config, AXES, out=tmp_path)
    assert sorted(ran) == ["UCB"] * 2 + ["eta_fucb"] * 4
    ran.clear()
    again = sweep(config, AXES, out=tmp_path)
    assert ran == []
    pd.testing.assert_frame_equal(first.lanes(), again.lanes())
    sweep(config, {**AXES, "policies[0].eta": [1, 10, 100]}, out=tmp_path)
    assert ran == ["eta_fucb"] * 2
    assert status(tmp_path).other == 0
    sweep(config, {"horizon": [40]}, out=tmp_path)
    assert status(tmp_path).other == 6
    ran.clear()
    sweep(config, AXES, out=tmp_path, again=True)
    assert len(ran) == 6
    assert status(tmp_path).other == 0


def test_results_are_read_back_as_they_were(config: dict[str, Any], tmp_path: Path) -> None:
    results = sweep(config, AXES, out=tmp_path)
    loaded = SweepResults.load(tmp_path)
    pd.testing.assert_frame_equal(loaded.lanes(), results.lanes())
    pd.testing.assert_frame_equal(loaded.summary(), pd.read_parquet(tmp_path / "summary.parquet"))
    lanes = pq.read_table(tmp_path / "lanes").to_pandas().astype({"policy": str})
    keys = ["setting", "policy", "lane"]
    order = list(results.lanes())
    pd.testing.assert_frame_equal(
        lanes[order].sort_values(keys, ignore_index=True), results.lanes().sort_values(keys, ignore_index=True)
    )
    assert {path.name for path in (tmp_path / "lanes").iterdir()} == {"policy=UCB", "policy=eta_fucb"}


def test_axes_of_tables_and_texts_are_columns(config: dict[str, Any], tmp_path: Path) -> None:
    feedback = ["immediate", {"kind": "geometric", "success": 0.5}]
    results = sweep(config, {"environment.feedback": feedback, "policies[0].eta": [1, "x"]}, out=tmp_path)
    assert results.summary("reward")["feedback"].unique().tolist() == ["immediate", "geometric(success=0.5)"]
    assert set(pd.read_parquet(tmp_path / "summary.parquet")["eta"]) == {"1"} | {"x"}
    assert len(results.failures) == 2


def test_a_setting_that_fails_stops_no_other(config: dict[str, Any], tmp_path: Path, ran: list[str]) -> None:
    axes = {"policies[0].eta": [1, -1, 10]}
    results = sweep(config, axes, out=tmp_path)
    (failure,) = results.failures.values()
    assert (failure["policy"], failure["setting"]) == ("eta_fucb", "eta = -1")
    assert "eta must be" in failure["error"]
    assert len(results.by_key) == 3
    found = status(tmp_path)
    assert (found.settings, found.units, found.finished, len(found.failed), found.missing) == (3, 4, 3, 1, 0)
    ran.clear()
    sweep(config, axes, out=tmp_path)
    assert ran == ["eta_fucb"]  # a unit that failed is tried again


def test_an_error_in_a_part_of_ones_own_is_a_failure(config: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "own_raising.py").write_text(
        "from evenhand.algorithms import ucb1\ndef make(plays=1, bad=False):\n    return 5 if bad else ucb1()\n"
    )
    config["policies"][1] = {"algorithm": "own_raising:make"}
    study = Study.of(config, {"policies[1].bad": [False, True]}, folder=tmp_path)
    results = sweep(study)
    (failure,) = results.failures.values()
    assert "own_raising:make" in failure["error"]
    assert len(results.by_key) == 2


@pytest.mark.slow
def test_a_worker_that_ends_costs_only_its_own_unit(config: dict[str, Any]) -> None:
    config["policies"][1] = {"label": "deadly", "algorithm": "own_part:deadly"}
    study = Study.of(config, {"policies[0].eta": [1, 2, 3, 4, 5, 6]}, folder=Path(__file__).parent)
    results = sweep(study, jobs=2)
    (failure,) = results.failures.values()
    assert failure["policy"] == "deadly"
    assert failure["error"].startswith("it ended the process that ran it")
    assert len(results.by_key) == 6
    config["policies"].pop()
    pd.testing.assert_frame_equal(
        results.lanes("reward"), sweep(config, {"policies[0].eta": [1, 2, 3, 4, 5, 6]}).lanes("reward")
    )


STUDY = """
horizon = 3000
lanes = 5
[environment]
rewards = { kind = "bernoulli", means = [0.9, 0.5] }
fractions = 0.2
[[policies]]
algorithm = "eta_fucb"
[sweep]
axes = { "policies[0].eta" = [1, 2, 3, 4, 5, 6, 7, 8] }
"""


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_sweep_that_is_killed_loses_only_what_is_under_way(tmp_path: Path, jobs: int) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    out = tmp_path / "out"
    code = f"from evenhand import sweep; sweep({str(tmp_path / 'study.toml')!r}, out={str(out)!r}, jobs={jobs})"
    _kill_after(2, out, code)
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "units").glob("[!.]*")}
    found = status(out)
    assert 2 <= found.finished < 8
    assert found.missing == 8 - found.finished
    results = sweep(tmp_path / "study.toml", out=out)
    files = {path.name: path.stat().st_mtime_ns for path in (out / "units").iterdir()}  # also hidden ones
    assert not [name for name in files if name.startswith(".")]
    assert {name: files[name] for name in kept} == kept
    assert status(out).finished == 8
    pd.testing.assert_frame_equal(results.lanes(), sweep(tmp_path / "study.toml").lanes())


@pytest.mark.slow
def test_a_sweep_of_short_units_that_is_killed_keeps_what_was_finished(tmp_path: Path) -> None:
    """Killed again and again while it writes files of many results each."""
    etas = ", ".join(map(str, range(1, 1001)))
    (tmp_path / "study.toml").write_text(STUDY.replace("3000", "3").replace("1, 2, 3, 4, 5, 6, 7, 8", etas))
    out, seen = tmp_path / "out", set[str]()
    code = f"from evenhand import sweep; sweep({str(tmp_path / 'study.toml')!r}, out={str(out)!r}, jobs=2)"
    for _ in range(3):
        _kill_after(len(seen) + 100, out, code)
        assert seen < Store(out).finished()
        seen = Store(out).finished()
    results = sweep(tmp_path / "study.toml", out=out)
    assert len(results.by_key) == 1000
    pd.testing.assert_frame_equal(results.lanes(), sweep(tmp_path / "study.toml").lanes())


def _kill_after(finished: int, out: Path, code: str) -> None:
    """Kill a process of its own as soon as so many units are finished."""
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        _wait_for(lambda: process.poll() is not None or len(Store(out).finished()) >= finished)
    finally:
        process.kill()
        process.wait()
    _wait_for(lambda: not _members(process.pid))


def _wait_for(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def _members(group: int) -> list[int]:
    """Processes of a session that are alive."""
    alive = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(session) == group and state != "Z":
            alive.append(int(path.parent.name))
    return alive


@pytest.mark.parametrize("jobs", thinned([1, 2], (2).__eq__))
def test_short_units_run_together_and_change_no_digit(
    config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """Also policies with the same label, worlds that take turns, and one that fails in the middle."""
    axes = {"environment.rewards.means": [[0.9, 0.5], [0.7, 0.6]], "policies[0].eta": [*range(1, 20), -1, 20]}
    together = sweep(config, axes, out=tmp_path, jobs=jobs)
    assert len(list((tmp_path / "units").iterdir())) < len(together.by_key) == 2 * 20 + 2
    assert {(one["policy"], "eta = -1" in one["setting"]) for one in together.failures.values()} == {("eta_fucb", True)}
    monkeypatch.setattr(pool, "MOST", 1)
    pd.testing.assert_frame_equal(together.lanes(), sweep(config, axes).lanes())


def test_one_that_fails_while_it_runs_costs_no_other_of_those_that_run_with_it(config: dict[str, Any]) -> None:
    """Its parts fit, so that nothing is wrong before the first round."""
    config["policies"][1] = {"label": "raising", "algorithm": "own_part:raising"}
    axes = {"policies[0].eta": [*range(1, 20)], "policies[1].after": [10, 11, 1000]}
    results = sweep(Study.of(config, axes, folder=Path(__file__).parent))
    first, second = sorted(results.failures.values(), key=lambda one: one["setting"])
    assert first["policy"] == second["policy"] == "raising"
    assert "it raises after round 10" in first["error"]
    assert second["error"].endswith("raised SystemExit")
    assert len(results.by_key) == 19 + 1


def test_an_interrupt_says_what_is_kept(
    config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Store.save
    saved: list[Any] = []

    def interrupted(self: Store, done: Any) -> None:
        if saved:
            raise KeyboardInterrupt
        saved.extend(done)
        save(self, done)

    monkeypatch.setattr(Store, "save", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"interrupted: . of 6 units are done and kept") as error:
        sweep(config, AXES, out=tmp_path)
    assert str(error.value).startswith(f"interrupted: {len(saved)} of 6")
    assert 1 <= status(tmp_path).finished == len(saved) < 6


def test_shards_are_joined(config: dict[str, Any], tmp_path: Path) -> None:
    whole = sweep(config, AXES).lanes()
    for number in (1, 2, 3):
        sweep(config, AXES, out=tmp_path / str(number), shard=f"{number}/3")
    assert sum(len(Store(tmp_path / str(number)).finished()) for number in (1, 2, 3)) == 6
    joined = merge(tmp_path / "all", *(tmp_path / str(number) for number in (1, 2, 3)))
    pd.testing.assert_frame_equal(joined.lanes(), whole)
    assert (tmp_path / "all" / "summary.parquet").is_file()
    for number in (1, 2):  # into one folder
        sweep(config, AXES, out=tmp_path / "same", shard=f"{number}/2")
    assert not (tmp_path / "same" / "summary.parquet").exists()
    pd.testing.assert_frame_equal(merge(tmp_path / "same").lanes(), whole)


def test_parts_of_another_study_are_not_joined(config: dict[str, Any], tmp_path: Path) -> None:
    sweep(config, AXES, out=tmp_path / "1", shard="1/2")
    sweep(config, {"horizon": [30]}, out=tmp_path / "2", shard="1/1")
    with pytest.raises(EvenhandError, match="is of another study"):
        merge(tmp_path / "all", tmp_path / "1", tmp_path / "2")
    with pytest.raises(DataError, match="is not the folder of a sweep"):
        merge(tmp_path / "all", tmp_path)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "1/0", "a/b", "-1/3", "1/3/5"])
def test_what_is_no_shard_is_refused(config: dict[str, Any], tmp_path: Path, shard: str) -> None:
    with pytest.raises(EvenhandError, match="shard must have the form 3/10"):
        sweep(config, AXES, out=tmp_path, shard=shard)


def test_a_folder_of_another_version_is_refused(
    config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(config, AXES, out=tmp_path)
    monkeypatch.setattr(storing, "code_version", lambda *parts: "9.9.9+other")
    with pytest.raises(EvenhandError, match=r"holds results of another version \(.*\), this is 9.9.9\+other"):
        sweep(config, AXES, out=tmp_path)
    sweep(config, AXES, out=tmp_path, again=True)
    assert status(tmp_path).finished == 6


def test_the_version_is_that_of_the_parts_that_a_study_names(config: dict[str, Any]) -> None:
    one, more = Study.of(config, AXES), Study.of(config, {**AXES, "environment.feedback": ["immediate", "kernel"]})
    assert storing.code_of(one) == storing.code_of(Study.of({**config, "lanes": 7}, AXES))
    assert len({storing.code_of(one), storing.code_of(more), code_version()}) == 3


def test_two_runs_into_one_folder_do_not_mix(config: dict[str, Any], tmp_path: Path) -> None:
    study = Study.of(config, AXES)
    with Store(tmp_path).writing(study), pytest.raises(EvenhandError, match="another run is writing to"):
        sweep(study, out=tmp_path)


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "bit"])
def test_a_damaged_result_is_named(config: dict[str, Any], tmp_path: Path, damage: str) -> None:
    whole = sweep(config, AXES, out=tmp_path)
    path = next((tmp_path / "units").iterdir())
    content = path.read_bytes()
    changed = {"cut": content[: len(content) // 2], "empty": b"", "other": b"PK" + content[::-1]}
    path.write_bytes(changed.get(damage, content[:-1] + bytes([content[-1] ^ 1])))
    with pytest.raises(DataError, match=f"{path.name} is damaged .*remove it"):
        SweepResults.load(tmp_path)
    path.unlink()
    assert 1 <= status(tmp_path).missing <= 6
    pd.testing.assert_frame_equal(sweep(config, AXES, out=tmp_path).lanes(), whole.lanes())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"backend": "spark"}, "backend must be"),
        ({"address": "tcp://x"}, "an address belongs to a cluster"),
        ({"shard": "1/2"}, "a shard needs a folder"),
    ],
)
def test_faults_of_arguments_are_named(config: dict[str, Any], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        sweep(config, AXES, **arguments)


def test_axes_do_not_go_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    with pytest.raises(EvenhandError, match=r"a file has its own \[sweep\]"):
        sweep(tmp_path / "study.toml", AXES)


def test_files_are_read_relative_to_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rewards.csv").write_text("tea,coffee\n" + "1,0\n0,1\n" * 20)
    text = STUDY.replace('{ kind = "bernoulli", means = [0.9, 0.5] }', '{ kind = "table", path = "rewards.csv" }')
    (tmp_path / "study.toml").write_text(text.replace("3000", "30"))
    sweep(tmp_path / "study.toml", out=tmp_path / "out")
    monkeypatch.chdir("/")
    assert len(SweepResults.load(tmp_path / "out").by_key) == 8
    shutil.rmtree(tmp_path / "out" / "lanes")
    assert merge(tmp_path / "out").results(0).names == ("tea", "coffee")


def test_the_longest_units_come_first(config: dict[str, Any], tmp_path: Path) -> None:
    units = list(units_of(Study.of(config, {"horizon": [10, 1000, 100]})))
    ordered = sweeping._missing(units, Store(tmp_path))
    assert [unit.setting.config["horizon"] for unit in ordered] == [1000, 1000, 100, 100, 10, 10]
