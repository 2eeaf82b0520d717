"""FairX on Yeast: how the data become situations and rewards, and what is measured, at a small size; no data needed."""

from __future__ import annotations

import gzip
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import DataError
from evenhand.core.state import Array
from evenhand.papers.beyond import yeast
from evenhand.papers.data import recognised
from evenhand.papers.experiment import CompletedRun, Runs, experiments
from evenhand.papers.judging import judge
from evenhand.papers.runner import Store
from evenhand.simulation.simulate import run_setup
from evenhand.studies.configuration import load

FOLDER = Path(str(files("evenhand.papers.beyond")))
HEAD = ",".join((*yeast.FEATURES, *yeast.LABELS))


def made_up(rows: int = 60) -> tuple[Array, Array]:
    """Features and labels of the shape of the data."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(rows, 103)) * np.where(np.arange(103) == 0, 50.0, 1.0)
    return features.round(6), (features[:, :14] > 0.5).astype(float)


def written(folder: Path, features: Array, labels: Array) -> Path:
    """A file of the form of the package river's."""
    rows = [
        ",".join([*map(str, row), *(f"{label:g}" for label in own)]) for row, own in zip(features, labels, strict=True)
    ]
    path = folder / "yeast.csv.gz"
    path.write_bytes(gzip.compress("\n".join([HEAD, *rows, ""]).encode()))
    return path


@pytest.fixture(scope="module")
def runs() -> Runs:
    setup = load(FOLDER / "yeast.toml", horizon=1500, lanes=4)
    return {"yeast": CompletedRun(run_setup(setup, progress=False), setup)}


def test_features_and_labels_are_read(tmp_path: Path) -> None:
    features, labels = made_up()
    found = yeast.load(written(tmp_path, features, labels))
    np.testing.assert_array_equal(found[0], features)
    np.testing.assert_array_equal(found[1], labels)


def test_what_is_no_label_is_named(tmp_path: Path) -> None:
    features, labels = made_up()
    labels[7, 3] = 2.0
    with pytest.raises(DataError, match=r"yeast\.csv\.gz, row 9, column Class4: '2' is not 0 or 1$"):
        yeast.load(written(tmp_path, features, labels))


def test_a_file_without_the_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "yeast.csv"
    path.write_text("Att1,Class1\n0.5,1\n")
    with pytest.raises(DataError, match="has no column 'Att2'"):
        yeast.load(path)


def test_situations_are_uncorrelated_components_of_the_same_size() -> None:
    features, _ = made_up()
    found = yeast.situations(features)
    assert found.shape == (60, 11)
    np.testing.assert_allclose(found.T @ found / 60, np.eye(11), atol=1e-9)
    assert np.abs(np.corrcoef(found[:, 1], features[:, 0])[0, 1]) > 0.99  # the widest feature comes first
    np.testing.assert_allclose(yeast.situations(5.0 * features + 1.0), found, atol=1e-9)


def test_a_linear_chance_is_found() -> None:
    known = yeast.situations(made_up()[0])
    true = np.random.default_rng(1).normal(size=(14, 11))
    np.testing.assert_allclose(yeast.fitted(known, known @ true.T), true, atol=1e-9)


def test_with_the_data_rows_are_situations_and_labels_rewards(tmp_path: Path) -> None:
    features, labels = made_up()
    given = recognised([written(tmp_path, features, labels).parent])
    assert given == {"yeast": (tmp_path / "yeast.csv.gz").resolve()}
    experiment = experiments()["X-Y"]
    setup = Store(tmp_path / "out", quick=True, data=given).setup(experiment, "yeast")
    means, _ = setup.environment.law
    np.testing.assert_array_equal(means[:60], labels)
    np.testing.assert_array_equal(setup.environment.contexts.law(14)[0].situation[:60], yeast.situations(features))  # type: ignore[union-attr]
    assert setup.environment.rows is not None
    assert setup.environment.rows >= setup.horizon


def test_claims_that_need_data_are_listed_and_not_measured(runs: Runs) -> None:
    experiment = experiments()["X-Y"]
    verdicts = judge(experiment, runs, given=())
    assert [one.status for one in verdicts[-2:]] == ["not runnable here"] * 2
    assert "MediaMill" in verdicts[-2].sentence
    assert "river" in verdicts[-1].missing
    assert len(judge(experiment, runs, given=("yeast",))) == len(verdicts) - 1


def test_who_goes_by_reward_alone_is_noticed(runs: Runs) -> None:
    fair, one = (runs["yeast"].results.policies[label] for label in ("FairX-LinTS", "LinTS"))
    claim = experiments()["X-Y"].claims[2]
    assert all(finding.holds for finding in claim.test(runs))
    kept = dict(fair.curves)
    try:
        fair.curves.update(one.curves)
        assert not any(finding.holds for finding in claim.test(runs))
        assert not any(finding.holds for finding in experiments()["X-Y"].claims[0].test(runs))
    finally:
        fair.curves.update(kept)


def test_the_last_half_of_the_rounds_counts(runs: Runs) -> None:
    curve = runs["yeast"].results.policies["FairX-TS, no features"].curves[yeast.FAIRNESS]
    kept = curve.copy()
    try:
        curve[:] = runs["yeast"].results.rounds[:, np.newaxis]
        np.testing.assert_allclose(yeast.later(runs["yeast"], "FairX-TS, no features", yeast.FAIRNESS), 1.0)
        assert all(finding.holds for finding in yeast.later_less(yeast.BLIND, (yeast.FAIRNESS,))(runs))
        curve[:] = 0.0
        assert not any(finding.holds for finding in yeast.later_less(yeast.BLIND, (yeast.FAIRNESS,))(runs))
    finally:
        curve[:] = kept


def test_the_figure_and_the_table_have_every_policy(runs: Runs) -> None:
    assert len(yeast.of_regrets(runs).axes) == 2
    (table,) = yeast.numbers(runs)
    assert [*table.rows] == [*runs["yeast"].results.policies]
    assert table.columns == ("reward regret", "fairness regret", "reward")
