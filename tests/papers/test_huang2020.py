"""The experiments of Huang et al. 2020: their claims can be measured, and can be refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from evenhand import compare
from evenhand.datasets import movielens
from evenhand.judgement.claims import AGREES, HIDDEN
from evenhand.papers.experiment import CompletedRun, Experiment, PaperClaim, Runs
from evenhand.papers.huang2020.claims import (
    HORIZONS,
    distance_in_stars,
    furthest_behind,
    none_missing_in_the_limit,
    queue_over_index,
    settled,
)
from evenhand.papers.huang2020.settings import EXPERIMENTS, on_ratings
from evenhand.papers.judging import judge
from evenhand.studies import configuration as config
from evenhand.theory.bounds import balancing_eta

FOLDER = Path(str(files("evenhand.papers"))) / "huang2020"
BY_ID = {experiment.id: experiment for experiment in EXPERIMENTS}


def run_of(part: str, horizon: int, lanes: int, played: Mapping[str, str] | None = None) -> CompletedRun:
    """A configuration at a small size; ``played`` says for some labels whose policy plays under them, and runs these
    labels only."""
    setup = config.load(FOLDER / f"{part}.toml", horizon=horizon, lanes=lanes)
    policies = setup.policies if played is None else {label: setup.policies[by] for label, by in played.items()}
    options: dict[str, Any] = {"checkpoints": setup.checkpoints, "spacing": setup.spacing}
    return CompletedRun(compare(policies, setup.environment, horizon, lanes, setup.seed, **options), setup)


def claim_of(experiment: str, words: str) -> PaperClaim:
    (found,) = (claim for claim in BY_ID[experiment].claims if words in claim.sentence)
    return found


def holds(claim: PaperClaim, part: str, run: CompletedRun) -> bool:
    findings = list(claim.test({part: run}))
    assert findings
    return all(finding.holds for finding in findings)


@pytest.fixture(scope="module")
def runs() -> Runs:
    """All configurations, at a tiny size."""
    return {part: run_of(part, horizon=200, lanes=2) for part in ("h1-h3", "h2-h4", "h5", "h6-h7")}


def test_the_experiments_are_those_of_the_paper() -> None:
    assert list(BY_ID) == [f"H-{number}" for number in range(1, 8)]


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_claim_is_measured_and_every_figure_drawn(experiment: Experiment, runs: Runs) -> None:
    for verdict in judge(experiment, runs):
        for finding in verdict.findings:
            assert np.isfinite([finding.effect, finding.low, finding.high]).all()
            assert finding.low <= finding.effect <= finding.high
    figure = experiment.draw(runs)
    figure.draw_without_rendering()
    assert len(figure.axes) == {"H-1": 4, "H-3": 1, "H-4": 1, "H-7": 3}.get(experiment.id, 2)


# --- claims that a wrong policy must not pass -------------------------------------------------------------------------

ENDS = (", balanced η", ", η = ∞")


@pytest.mark.slow
def test_ratings_near_the_truth_are_claimed_of_the_right_policy() -> None:
    right = {name + end: name + end for name in ("TSCSF-B", "LFG") for end in ENDS}
    swapped = {f"TSCSF-B{end}": f"LFG{end}" for end in ENDS} | {f"LFG{end}": f"TSCSF-B{end}" for end in ENDS}
    near, high = (claim_of("H-6", words) for words in ("much closer to the true ones than those of LFG.", "are higher"))
    for played, expected in ((right, True), (swapped, False)):
        run = run_of("h6-h7", 1000, 20, played)
        assert holds(near, "h6-h7", run) == expected
        assert holds(high, "h6-h7", run) == expected


@pytest.mark.parametrize(
    ("experiment", "words", "part", "horizon", "fair"),
    [("H-4", "keep the promises to all arms", "h2-h4", 2000, "63.55"), ("H-1", "are ignored", "h1-h3", 1000, "1")],
)
def test_constraints_are_kept_by_the_queue_and_ignored_without_it(
    experiment: str, words: str, part: str, horizon: int, fair: str
) -> None:
    claim = claim_of(experiment, words)
    with_queue, without = ([f"{name} eta={eta}" for name in ("TSCSF-B", "LFG")] for eta in (fair, "inf"))
    right = {label: label for label in (*with_queue, *without)}
    swapped = dict(zip((*with_queue, *without), (*without, *with_queue), strict=True))
    for played, expected in ((right, True), (swapped, False)):
        assert holds(claim, part, run_of(part, horizon, 10, played)) == expected


def test_a_promise_in_the_limit_is_kept_by_what_shrinks_and_never_broken_by_a_horizon() -> None:
    run = run_of("h1-h3", 1000, 10, {"LFG eta=1000": "LFG eta=1000"})
    record, rounds = run.results.policies["LFG eta=1000"], run.results.rounds
    promised = np.asarray(run.results.promised["LFG eta=1000"])

    def mark(missing: Any) -> str:
        """Of a first arm that misses so much at each checkpoint, give or take a play over the lanes."""
        plays = rounds[:, np.newaxis, np.newaxis] * promised + np.zeros(record.pulls.shape)
        plays[:, :, 0] -= missing[:, np.newaxis] + np.linspace(-1.0, 1.0, 10)
        changed = replace(run.results, policies={"LFG eta=1000": replace(record, pulls=plays)})
        found = none_missing_in_the_limit(replace(run, results=changed), "LFG eta=1000")
        return found.mark(found.p_value)

    assert mark(0.0 * rounds) == AGREES
    assert mark(10.0 * np.sqrt(rounds)) == AGREES
    assert mark(0.05 * rounds) == HIDDEN


def test_the_queue_is_told_from_the_index() -> None:
    claim = claim_of("H-7", "choice of the queue")
    end = ENDS[0]
    names = ("TSCSF-B", "TSCSF-B recursive", "LFG exact", "LFG")
    # Under these labels the index changes with the "queue", and the queue does not change at all.
    wrong = dict(zip(names, ("TSCSF-B", "TSCSF-B", "LFG exact", "LFG exact"), strict=True))
    run = run_of("h6-h7", 1000, 10, {name + end: by + end for name, by in wrong.items()})
    assert not holds(claim, "h6-h7", run)


# --- the computations -------------------------------------------------------------------------------------------------


def made(pulls: Any, promised: Any, rounds: Any, **record: Any) -> CompletedRun:
    """A run with a single policy "p" and plays (checkpoints, lanes, arms)."""
    records = {"p": SimpleNamespace(pulls=np.array(pulls), **record)}
    names = tuple(str(arm + 1) for arm in range(np.shape(pulls)[-1]))
    results = SimpleNamespace(
        policies=records, rounds=np.array(rounds), promised={"p": np.array(promised)}, names=names
    )
    return CompletedRun(cast(Any, results), cast(Any, None))


def test_the_arm_that_misses_most() -> None:
    # Of 10 rounds 5 and 2 are owed: lane 1 misses 1 and −1 plays, lane 2 misses −3 and 1.
    missing, arm = furthest_behind(made([[[4, 3], [8, 1]]], [0.5, 0.2], [10]), "p")
    assert arm == "arm 2"  # 0 on average, against −1
    assert missing.tolist() == pytest.approx([-1.0, 1.0])


def test_the_last_round_with_an_arm_behind() -> None:
    # 1% of 10, 100 and 1000 rounds are 0.1, 1 and 10 plays.
    violation = np.array([[0.2, 0.0, 0.0], [1.5, 0.9, 1.5], [9.0, 9.0, 11.0]])
    run = made(np.zeros((3, 3, 2)), [0.1, 0.1], [10, 100, 1000], curves={"violation": violation})
    assert settled(run, "p").tolist() == [100.0, 0.0, 1000.0]


def test_the_effect_of_the_queue_against_that_of_the_index() -> None:
    exact, recursive = np.array([0.0, 2.0]), np.array([-3.0, -1.0])
    other_exact, other_recursive = exact + 1.0, recursive + 2.0
    # Queue: −3 and −2 for the two indices, 2.5 without sign; index: 1 and 2 for the two queues, 1.5.
    found = queue_over_index(exact, recursive, other_exact, other_recursive)
    assert found.tolist() == pytest.approx([1.0, 1.0])
    # With queue and index exchanged it is the opposite.
    swapped = queue_over_index(exact, other_exact, recursive, other_recursive)
    assert swapped.tolist() == pytest.approx([-1.0, -1.0])


def test_distance_of_ratings_leaves_out_films_never_rated() -> None:
    run = made(np.zeros((1, 2, 2)), [0.0, 0.0], [10], estimate=np.array([[0.6, np.nan], [0.4, 1.0]]))
    truth = SimpleNamespace(environment=SimpleNamespace(means=np.array([0.5, 0.8])))
    found = distance_in_stars(CompletedRun(run.results, cast(Any, truth)), "p", "estimate")
    # In stars: 0.5 in lane 1; 0.5 and 1 in lane 2.
    assert found.tolist() == pytest.approx([0.5, 0.75])


def test_every_horizon_of_the_bounds_has_its_eta() -> None:
    labels = set(config.load(FOLDER / "h5.toml").policies)
    assert labels == {f"{name} eta={eta}" for name in ("TSCSF-B", "LFG") for eta in HORIZONS.values()}
    for horizon, eta in HORIZONS.items():
        assert float(eta) == round(balancing_eta(horizon, arms=6, plays=3), 2)


def test_a_folder_of_ratings_brings_its_users_and_their_eta(tmp_path: Path) -> None:
    films = "".join(f'{number},"{title}",Drama\n' for number, title in enumerate(movielens.FILMS))
    (tmp_path / "movies.csv").write_text("movieId,title,genres\n" + films)
    # 120 users; the last one has rated all films.
    rated = [*(f"{user},{user % 5},4,0" for user in range(119)), *(f"119,{film},5,0" for film in range(5))]
    (tmp_path / "ratings.csv").write_text("\n".join(["userId,movieId,rating,timestamp", *rated, ""]))
    before = tomllib.loads((FOLDER / "h6-h7.toml").read_text(encoding="utf-8"))
    after = on_ratings(before, tmp_path)
    setup = config.parse(after)
    assert setup.horizon == 120
    assert setup.environment.rows == 120
    etas = {label: cast(Any, policy.fairness).eta for label, policy in setup.policies.items()}
    balanced = np.sqrt(5 * 120 / (2 * np.log(120)))
    assert etas == {label: np.inf if "∞" in label else pytest.approx(balanced) for label in etas}
    assert before["horizon"] == 28_356  # left as it was
    assert before["environment"]["dataset"] == "films"
