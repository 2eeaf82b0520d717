"""Results: tables against the records, summaries against plain NumPy, files that come back exactly."""

from __future__ import annotations

import json
import math
import shutil
import stat
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenhand import Environment, PerLane, Results, compare
from evenhand.algorithms import fucb, hard_threshold_ucb, lfg, t_fucb, ucb1
from evenhand.core.errors import ConfigurationError, DataError
from evenhand.core.files import write_whole
from evenhand.environment.availability import Independent
from evenhand.environment.rewards import Bernoulli, Gaussian
from evenhand.inference.means import mean_and_error
from evenhand.policy.merit import Linear
from evenhand.simulation.files import read_table
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.setup import read_setup

HORIZON, LANES = 40, 3
WORLD = Environment(Gaussian([0.8, 0.5], 0.3), Independent([0.9, 0.8]), names=("tea", "coffee"), merit=Linear())
POLICIES = {"plain": ucb1(), "fair": fucb([0.1, 0.2]), "priced": hard_threshold_ucb([0.2, 0.1], penalties=0.3)}


def run(lanes: int = LANES, **options: Any) -> Results:
    given: dict[str, Any] = {"horizon": HORIZON, "seed": 4, "checkpoints": 4, "progress": False}
    return compare(POLICIES, WORLD, lanes=lanes, **given | options)


@pytest.fixture(scope="module")
def results() -> Results:
    return run()


# --- tables -----------------------------------------------------------------------------------------------------------


# Measures of other worlds and promises.
WORLDS = ("composite_regret", "adversarial_regret", "stuck", "dynamic_regret", "dynamic_r_regret")
ELSEWHERE = (*WORLDS, "bound_violation", "segment_unfairness")


def test_curves_have_a_row_for_every_policy_lane_and_checkpoint(results: Results) -> None:
    table = results.curves()
    known = [name for name in MEASURES if name not in ELSEWHERE]
    assert table.columns.tolist() == ["policy", "lane", "round", *known]
    assert len(table) == 3 * 4 * LANES
    assert not table.duplicated(["policy", "lane", "round"]).any()
    for _, row in table.iterrows():
        record = results.policies[row["policy"]]
        place = results.rounds.tolist().index(row["round"])
        for name in known:
            if name in record.curves:
                assert row[name] == record.curves[name][place, row["lane"]]
            else:
                assert math.isnan(row[name])
    assert table.loc[table["policy"] == "plain", "r_regret"].isna().all()
    assert table.loc[table["policy"] == "fair", "penalized_regret"].isna().all()


def test_measures_that_nobody_has_are_left_out() -> None:
    table = compare([ucb1()], attrs.evolve(WORLD, merit=None), 5, 2, progress=False).curves()
    assert table.columns.tolist() == ["policy", "lane", "round", "reward", "regret", "time_averaged_regret"]


def test_arms_have_a_row_for_every_policy_lane_checkpoint_and_arm(results: Results) -> None:
    table = results.arms()
    assert table.columns.tolist() == ["policy", "lane", "round", "arm", "pulls", "fraction", "promised"]
    assert len(table) == 3 * 4 * LANES * 2
    assert not table.duplicated(["policy", "lane", "round", "arm"]).any()
    # Merits 1.8 and 1.5; both are there in 0.72 of the rounds, tea alone in 0.18 and coffee alone in 0.08.
    deserved = [0.72 * 1.8 / 3.3 + 0.18, 0.72 * 1.5 / 3.3 + 0.08]
    shares = {"plain": deserved, "fair": [0.1, 0.2], "priced": [0.2, 0.1]}
    for _, row in table.iterrows():
        arm = ["tea", "coffee"].index(row["arm"])
        place = results.rounds.tolist().index(row["round"])
        pulls = results.policies[row["policy"]].pulls[place, row["lane"], arm]
        assert row["pulls"] == pulls
        assert row["fraction"] == pulls / row["round"]
        assert row["promised"] == pytest.approx(shares[row["policy"]][arm], rel=1e-12)


def test_where_nothing_is_promised_nothing_is_told() -> None:
    found = compare([ucb1()], attrs.evolve(WORLD, merit=None), 4, 2, checkpoints=2, progress=False).arms()
    assert found["promised"].isna().all()


def test_estimates_have_a_row_for_every_policy_lane_and_arm(results: Results) -> None:
    table = results.estimates()
    assert table.columns.tolist() == ["policy", "lane", "arm", "estimate", "score"]
    assert len(table) == 3 * LANES * 2
    for _, row in table.iterrows():
        record, arm = results.policies[row["policy"]], ["tea", "coffee"].index(row["arm"])
        assert row["estimate"] == record.estimate[row["lane"], arm]
        assert row["score"] == record.score[row["lane"], arm]


def test_promises_by_lane_stand_in_the_table() -> None:
    shares = np.array([[0.1, 0.2], [0.3, 0.4]])
    found = compare([fucb(PerLane(shares))], WORLD, 4, 2, checkpoints=2, progress=False).arms()
    for _, row in found.iterrows():
        assert row["promised"] == shares[row["lane"], ["tea", "coffee"].index(row["arm"])]


# --- summaries --------------------------------------------------------------------------------------------------------


def test_summary_is_that_of_the_lanes(results: Results) -> None:
    table = results.summary(quantiles=(0.1, 0.5, 0.9))
    assert table.columns.tolist() == ["policy", "measure", "round", "mean", "stderr", "q0.1", "q0.5", "q0.9"]
    assert len(table) == 4 * sum(len(record.curves) for record in results.policies.values())
    for _, row in table.iterrows():
        place = results.rounds.tolist().index(row["round"])
        values = results.policies[row["policy"]].curves[row["measure"]][place].tolist()
        mean = sum(values) / LANES
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (LANES - 1))
        assert row["mean"] == pytest.approx(mean, rel=1e-12, abs=1e-12)
        assert row["stderr"] == pytest.approx(spread / math.sqrt(LANES), rel=1e-9, abs=1e-12)
        assert row["q0.5"] == sorted(values)[1]
        for q in (0.1, 0.9):
            assert row[f"q{q:g}"] == np.quantile(values, q)


def test_quantiles_by_default(results: Results) -> None:
    assert results.summary().columns.tolist()[-3:] == ["q0.05", "q0.5", "q0.95"]


def test_final_is_the_last_row_of_the_summary(results: Results) -> None:
    final, table = results.final(), results.summary()
    last = table[table["round"] == HORIZON]
    assert list(final) == list(POLICIES)
    for label, measures in final.items():
        curves = results.policies[label].curves
        assert list(measures) == [*(name for name in MEASURES if name in curves), "selection_fractions"]
        for name in curves:
            row = last[(last["policy"] == label) & (last["measure"] == name)].iloc[0]
            assert measures[name] == {"mean": row["mean"], "stderr": row["stderr"]}
        fractions = results.policies[label].pulls[-1] / HORIZON
        np.testing.assert_allclose(measures["selection_fractions"]["mean"], fractions.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(
            measures["selection_fractions"]["stderr"], fractions.std(axis=0, ddof=1) / math.sqrt(LANES), rtol=1e-12
        )


def test_mean_and_error() -> None:
    mean, error = mean_and_error(np.array([[1.0, 3.0], [2.0, 2.0]]))
    assert mean.tolist() == [2.0, 2.0]
    assert error.tolist() == [1.0, 0.0]  # standard deviation sqrt(2) over sqrt(2)
    assert np.isnan(mean_and_error(np.array([[1.0]]))[1]).all()


def test_json_has_the_run_and_no_words_that_json_does_not_know(results: Results) -> None:
    plain = results.to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert {key: plain[key] for key in ("horizon", "lanes", "seed", "arms")} == {
        "horizon": HORIZON,
        "lanes": LANES,
        "seed": 4,
        "arms": ["tea", "coffee"],
    }
    assert plain["policies"] == results.final()


def test_one_lane_has_no_standard_error() -> None:
    single = run(lanes=1)
    assert math.isnan(single.final()["fair"]["regret"]["stderr"])
    plain = single.to_json()
    json.dumps(plain, allow_nan=False)
    told = plain["policies"]["fair"]
    assert told["regret"]["stderr"] is None
    assert told["regret"]["mean"] == single.policies["fair"].curves["regret"][-1, 0]
    assert told["selection_fractions"]["stderr"] == [None, None]
    assert single.summary()["stderr"].isna().all()


# --- files ------------------------------------------------------------------------------------------------------------


def same(one: Results, other: Results) -> None:
    assert list(one.policies) == list(other.policies)
    assert one.rounds.tolist() == other.rounds.tolist()
    assert one.names == other.names
    assert one.information == other.information
    for label, here in one.policies.items():
        there = other.policies[label]
        assert here.pulls.dtype == there.pulls.dtype
        assert (here.pulls == there.pulls).all()
        assert set(here.curves) == set(there.curves)
        for name, curve in here.curves.items():
            assert (curve == there.curves[name]).all(), (label, name)
        np.testing.assert_array_equal(here.estimate, there.estimate)
        np.testing.assert_array_equal(here.score, there.score)
        np.testing.assert_array_equal(one.promised[label], other.promised[label])


@pytest.mark.parametrize("lanes", [1, LANES])
def test_what_was_saved_comes_back_exactly(lanes: int, tmp_path: Path) -> None:
    results = run(lanes=lanes)
    assert results.save(tmp_path / "new" / "folder") == tmp_path / "new" / "folder"
    same(results, Results.load(tmp_path / "new" / "folder"))


def test_arms_without_rewards_come_back(tmp_path: Path) -> None:
    # After one round one of the arms has no estimate, and its index is infinite.
    results = compare([ucb1()], Environment(Bernoulli([0.5, 0.5])), 1, 2, progress=False)
    assert np.isnan(results.policies["ucb1"].estimate[:, 1]).all()
    assert np.isinf(results.policies["ucb1"].score[:, 1]).all()
    results.save(tmp_path)
    same(results, Results.load(tmp_path))


def test_parameters_by_lane_come_back(tmp_path: Path) -> None:
    means, shares = PerLane(np.array([[0.1, 0.9], [0.4, 0.6]])), PerLane(np.array([[0.1, 0.2], [1 / 3, 0.0]]))
    results = compare({"Ω =": fucb(shares)}, Environment(Bernoulli(means)), 10, 2, progress=False)
    results.save(tmp_path)
    same(results, Results.load(tmp_path))


def test_saving_again_replaces_the_files(tmp_path: Path) -> None:
    run(seed=1).save(tmp_path)
    results = run(seed=2)
    results.save(tmp_path)
    same(results, Results.load(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arms.parquet", "curves.parquet", "estimates.parquet"]


def test_tables_in_the_files_are_plain_parquet(results: Results, tmp_path: Path) -> None:
    results.save(tmp_path)
    for name, table in (("curves", results.curves()), ("arms", results.arms()), ("estimates", results.estimates())):
        found = pd.read_parquet(tmp_path / f"{name}.parquet")
        pd.testing.assert_frame_equal(found, table, check_categorical=False)


@pytest.mark.parametrize("name", ["curves", "arms", "estimates"])
def test_every_file_can_be_run_again(name: str, results: Results, tmp_path: Path) -> None:
    results.save(tmp_path)
    setup = read_setup(tmp_path / f"{name}.parquet")
    again = compare(
        setup.policies,
        setup.environment,
        setup.horizon,
        setup.lanes,
        setup.seed,
        checkpoints=setup.checkpoints,
        spacing=setup.spacing,
        progress=False,
    )
    same(results, again)


def test_runs_by_lane_and_with_infinite_parameters_can_be_run_again(tmp_path: Path) -> None:
    world = Environment(Bernoulli(PerLane(np.random.default_rng(0).random((LANES, 2)))))
    results = compare([lfg([0.1, 0.1], eta=math.inf)], world, 20, LANES, 3, checkpoints=[1, 7], progress=False)
    results.save(tmp_path)
    setup = read_setup(tmp_path / "curves.parquet")
    again = compare(setup.policies, setup.environment, 20, LANES, 3, checkpoints=setup.checkpoints, progress=False)
    same(results, again)


def test_a_rerun_may_have_another_seed_lanes_or_horizon(results: Results, tmp_path: Path) -> None:
    path = results.save(tmp_path) / "curves.parquet"
    setup = read_setup(path, seed=9, lanes=7, horizon=25)
    assert (setup.seed, setup.lanes, setup.horizon, setup.checkpoints) == (9, 7, 25, [10, 20])
    longer = read_setup(path, horizon=100, lanes=None)
    assert (longer.horizon, longer.lanes, longer.checkpoints) == (100, LANES, [10, 20, 30, 40])
    # The rounds that both have are the same.
    again = compare(longer.policies, longer.environment, 100, LANES, 4, checkpoints=longer.checkpoints, progress=False)
    assert (again.policies["fair"].pulls[:4] == results.policies["fair"].pulls).all()


def test_lanes_of_parameters_by_lane_cannot_be_changed(tmp_path: Path) -> None:
    world = Environment(Bernoulli(PerLane(np.full((2, 2), 0.5))))
    path = compare([ucb1()], world, 5, 2, progress=False).save(tmp_path) / "curves.parquet"
    with pytest.raises(
        ConfigurationError, match=r"curves\.parquet: its parameters are for 2 lanes; run it with lanes = 2"
    ):
        read_setup(path, lanes=3)


def test_a_policy_made_for_a_horizon_is_not_run_to_another(tmp_path: Path) -> None:
    # Its plays before UCB1 are r T for the T that it was made for.
    path = compare([t_fucb([0.3, 0.3], horizon=20)], WORLD, 20, 2, progress=False).save(tmp_path) / "curves.parquet"
    assert np.asarray(read_setup(path).policies["t_fucb"].fractions).tolist() == [0.3, 0.3]
    with pytest.raises(ConfigurationError, match="horizon"):
        read_setup(path, horizon=40)


# --- files that are not what they should be ---------------------------------------------------------------------------


@pytest.fixture
def folder(results: Results, tmp_path: Path) -> Path:
    return results.save(tmp_path / "saved")


@pytest.mark.parametrize("name", ["curves", "arms", "estimates"])
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / f"{name}.parquet").unlink()
    with pytest.raises(DataError, match=f"there is no file .*{name}.parquet"):
        Results.load(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nowhere"):
        Results.load(tmp_path / "nowhere")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"policy,lane\nucb1,0\n", b"PAR1" + bytes(100) + b"PAR1"])
def test_what_is_no_parquet_file_is_refused(content: bytes, folder: Path) -> None:
    (folder / "curves.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"curves\.parquet is damaged or not a Parquet file"):
        Results.load(folder)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(part: float, folder: Path) -> None:
    path = folder / "arms.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(DataError, match=r"arms\.parquet is damaged or not a Parquet file"):
        Results.load(folder)


def test_a_damaged_byte_gives_a_data_error_or_nothing(folder: Path) -> None:
    # Wherever the damage is, no other error comes out of the libraries below.
    path = folder / "curves.parquet"
    whole = path.read_bytes()
    rng = np.random.default_rng(8)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[int(rng.integers(len(whole)))] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(damaged))
        try:
            read_table(path)
        except DataError as error:
            assert "curves.parquet" in str(error)  # noqa: PT017  (not every damage is found)


def stamped(path: Path, stamp: bytes | None) -> Path:
    table = pa.table({"policy": ["a"]})
    pq.write_table(table if stamp is None else table.replace_schema_metadata({b"evenhand": stamp}), path)
    return path


def test_a_parquet_file_of_others_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a Parquet file, but not one that Evenhand wrote"):
        read_table(stamped(tmp_path / "other.parquet", None))
    with pytest.raises(DataError, match="is a Parquet file, but not one that Evenhand wrote"):
        read_setup(stamped(tmp_path / "other.parquet", None))


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has format 99, but this version reads format 2"):
        read_table(stamped(tmp_path / "later.parquet", b'{"format": 99}'))
    with pytest.raises(DataError, match="has format None, but this version reads format 2"):
        read_table(stamped(tmp_path / "later.parquet", b"{}"))


@pytest.mark.parametrize("stamp", [b"{", b"", b"[1]", b"\xff\xfe\xfa", b"7"])
def test_a_stamp_that_is_no_information_is_refused(stamp: bytes, tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_table(stamped(tmp_path / "odd.parquet", stamp))


def test_files_of_different_runs_do_not_go_together(folder: Path, tmp_path: Path) -> None:
    # A run that was interrupted while it saved leaves such a folder.
    other = run(lanes=LANES, seed=99).save(tmp_path / "other")
    shutil.copy(other / "arms.parquet", folder / "arms.parquet")
    with pytest.raises(DataError, match=r"arms\.parquet"):
        Results.load(folder)


# --- whole or not at all ----------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    def half(path: Path) -> None:
        path.write_text("half of the")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_whole(tmp_path / "table.txt", half)
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text("old")

    def half(temporary: Path) -> None:
        assert temporary != path
        assert temporary.parent == path.parent  # on the same disk, so that it can take its place at once
        temporary.write_text("new")
        assert path.read_text() == "old"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, half)
    assert path.read_text() == "old"
    write_whole(path, lambda temporary: temporary.write_text("new"))
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_temporary_name_keeps_the_ending(tmp_path: Path) -> None:
    seen: list[str] = []
    write_whole(tmp_path / "figure.svg", lambda path: seen.append(path.suffix))
    assert seen == [".svg"]


def test_others_may_read_what_was_written(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    write_whole(tmp_path / "whole.txt", lambda path: path.write_text(""))
    assert stat.S_IMODE((tmp_path / "whole.txt").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_saving_that_fails_leaves_the_old_files(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(table: Any, where: Any, **options: Any) -> None:
        Path(where).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="disk full"):
        run(seed=2).save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
