"""The experiments of Fang et al. 2022: their claims can be measured, and can be refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from evenhand import compare
from evenhand.papers.experiment import CompletedRun, Experiment, PaperClaim, Runs
from evenhand.papers.fang2022 import claims
from evenhand.papers.fang2022.claims import SETTINGS, Frontier
from evenhand.papers.fang2022.settings import EXPERIMENTS, FILMS, film_grids, on_films
from evenhand.papers.judging import judge
from evenhand.studies import configuration as config
from evenhand.theory.bounds import fairness_margin

FOLDER = Path(str(files("evenhand.papers"))) / "fang2022"
BY_ID = {experiment.id: experiment for experiment in EXPERIMENTS}
PARTS = sorted(part for experiment in EXPERIMENTS for part in experiment.parts)
HARD, FAIR_LEARN, LFG = claims.POLICIES


def run_of(
    part: str, horizon: int, lanes: int, played: Mapping[str, str] | None = None, checkpoints: int = 1
) -> CompletedRun:
    """A configuration at a small size; ``played`` says for some labels whose policy plays under them, and runs these
    labels only."""
    setup = config.load(FOLDER / f"{part}.toml", horizon=horizon, lanes=lanes)
    policies = setup.policies if played is None else {label: setup.policies[by] for label, by in played.items()}
    return CompletedRun(
        compare(policies, setup.environment, horizon, lanes, setup.seed, checkpoints=checkpoints), setup
    )


def claim_of(experiment: str, words: str) -> PaperClaim:
    (found,) = (claim for claim in BY_ID[experiment].claims if words in claim.sentence)
    return found


def holds(claim: PaperClaim, runs: Runs) -> bool:
    findings = list(claim.test(runs))
    assert findings
    return all(finding.holds for finding in findings)


@pytest.fixture(scope="module")
def runs() -> Runs:
    """All configurations, at a tiny size."""
    first = {label: label for label in (HARD, FAIR_LEARN, f"{LFG} eta=22.3607")}  # LFG's for 500 rounds
    small = {part: run_of(part, 500, 2, first) if part in SETTINGS else run_of(part, 60, 2) for part in PARTS}
    curved = [part for part in PARTS if part[:2] in ("f6", "f7")]
    return small | {part: run_of(part, 1000, 3, checkpoints=10) for part in curved}  # with a first horizon


def test_the_experiments_are_those_of_the_paper() -> None:
    assert list(BY_ID) == [f"F-{number}" for number in range(1, 8)]
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == PARTS


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_claim_is_measured_and_every_figure_drawn(experiment: Experiment, runs: Runs) -> None:
    for verdict in judge(experiment, runs):
        for finding in verdict.findings:
            assert np.isfinite([finding.effect, finding.low, finding.high]).all()
            assert finding.low <= finding.effect <= finding.high
    figure = experiment.draw(runs)
    figure.draw_without_rendering()
    assert len(figure.axes) == {"F-3": 3, "F-5": 12, "F-6": 3, "F-7": 3}.get(experiment.id, 6)


# --- penalised regret: F-1 --------------------------------------------------------------------------------------------


def test_every_horizon_has_an_lfg_of_its_own() -> None:
    for part in SETTINGS:
        setup = config.load(FOLDER / f"{part}.toml")
        rounds = setup.checkpoints
        assert isinstance(rounds, list)
        assert list(setup.policies) == [HARD, FAIR_LEARN, *(f"{LFG} eta={round(t**0.5, 4):g}" for t in rounds)]


def test_the_lowest_penalised_regret_is_claimed_of_the_right_policy() -> None:
    claim = claim_of("F-1", "lower penalised regret than Fair-Learn")
    # Where promises are large the lead is clear after few rounds.
    right, wrong = (
        run_of("f1-k5-tau08", 1000, 12, {HARD: one, FAIR_LEARN: other})
        for one, other in ((HARD, FAIR_LEARN), (FAIR_LEARN, HARD))
    )
    assert holds(claim, dict.fromkeys(SETTINGS, right))
    assert not holds(claim, dict.fromkeys(SETTINGS, wrong))


# --- paths: F-2 -------------------------------------------------------------------------------------------------------


def path_of(run: CompletedRun, name: str) -> list[float]:
    return list(claims.missing(run, name))


def test_the_scale_is_read_off_the_parameters(runs: Runs) -> None:
    for part in ("f2-case1", "f2-case2"):
        tenths = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
        assert path_of(runs[part], FAIR_LEARN) == [*tenths, 0.0]
        assert path_of(runs[part], LFG) == tenths
        assert path_of(runs[part], HARD) == [round(1.0 - step / 20, 2) for step in range(21)]


def made_up(pulls: Mapping[str, Any], promised: Any, means: Any, rounds: int) -> CompletedRun:
    """A run in which policies made these plays, (lanes, arms)."""
    short = {
        label: np.maximum(np.asarray(promised) * rounds - plays, 0.0).sum(axis=-1) for label, plays in pulls.items()
    }
    records = {
        label: SimpleNamespace(pulls=np.array([plays]), curves={"unfairness": short[label][np.newaxis]})
        for label, plays in pulls.items()
    }
    lanes = len(next(iter(pulls.values())))
    results = SimpleNamespace(
        policies=records,
        rounds=np.array([rounds]),
        promised=dict.fromkeys(pulls, np.asarray(promised)),
        names=tuple(map(str, range(len(promised)))),
        information={"lanes": lanes},
    )
    setup = SimpleNamespace(environment=SimpleNamespace(means=np.asarray(means)))
    return CompletedRun(cast(Any, results), cast(Any, setup))


def test_an_arm_is_fair_down_to_the_first_step_at_which_it_is_not() -> None:
    # Promised 100 of 1000 plays each; the second arm of the first lane gets 96, then 94, then 100 of them.
    plays = {
        1.0: [[900, 100], [900, 100]],
        0.9: [[904, 96], [900, 100]],
        0.8: [[906, 94], [900, 100]],
        0.7: [[900, 100]] * 2,
    }
    pulls = {f"{HARD} penalties={eta:g}": np.array(found) for eta, found in plays.items()}
    run = made_up(pulls, [0.1, 0.1], [0.9, 0.5], rounds=1000)
    np.testing.assert_allclose(claims.missing(run, HARD)[0.8], [[0.0, 0.06], [0.0, 0.0]])
    np.testing.assert_allclose(claims.fair_down_to(run, HARD, 0.1), [[0.4, 0.2], [0.4, 0.4]])
    assert claims.worse(run).tolist() == [False, True]


def unfair_from(turns: list[float]) -> CompletedRun:
    """A run of setting 2 in which each arm but the first is unfair below an η of its own."""
    etas = [round(1.0 - step / 20, 2) for step in range(21)]
    pulls = {
        f"{HARD} penalties={eta:g}": np.array([[900.0, *(100.0 if eta >= turn else 50.0 for turn in turns)]] * 3)
        for eta in etas
    }
    return made_up(pulls, [0.1] * 4, [0.9, 0.8, 0.7, 0.6], rounds=1000)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [([0.2, 0.4, 0.6], True), ([0.1, 0.15, 0.2], True), ([0.4, 0.4, 0.6], False), ([0.6, 0.4, 0.2], False)],
)
def test_becoming_unfair_one_by_one(turns: list[float], expected: bool) -> None:
    run = unfair_from(turns)
    assert holds(claim_of("F-2", "one by one"), {"f2-case1": run, "f2-case2": run}) == expected


def test_becoming_unfair_all_at_once_is_claimed_of_the_right_policy() -> None:
    claim = claim_of("F-2", "With Fair-Learn")
    fair, next_to_fair = f"{FAIR_LEARN} tolerance=0", f"{FAIR_LEARN} tolerance=62.5"  # η = 1 and 0.9
    right = run_of("f2-case1", 8000, 6, {fair: fair, next_to_fair: next_to_fair})
    wrong = run_of("f2-case1", 8000, 6, {fair: f"{HARD} penalties=1", next_to_fair: f"{HARD} penalties=0.9"})
    assert holds(claim, {"f2-case1": right, "f2-case2": right})
    assert not holds(claim, {"f2-case1": wrong, "f2-case2": wrong})


# --- reward at the same unfairness: F-3 and F-5 -----------------------------------------------------------------------


def frontier_run(**values: list[tuple[float, float]]) -> CompletedRun:
    """A run in which policies have this unfairness and this mean reward, alike in three lanes."""
    records, means = {}, np.array([1.0, 0.0])
    for name, found in values.items():
        for place, (missing, reward) in enumerate(found):
            pulls = np.array([[[reward, 1000 - reward]] * 3])
            curves = {"unfairness": np.full((1, 3), missing)}
            records[f"{name} x={place}"] = SimpleNamespace(pulls=pulls, curves=curves)
    results = SimpleNamespace(policies=records, information={"lanes": 3}, names=("1", "2"))
    setup = SimpleNamespace(environment=SimpleNamespace(means=means))
    return CompletedRun(cast(Any, results), cast(Any, setup))


def test_a_frontier_is_a_line_through_the_values_that_are_not_beaten() -> None:
    # (10, 30) is beaten by (0, 40), and (0, 35) too.
    run = frontier_run(a=[(20.0, 80.0), (10.0, 30.0), (0.0, 35.0), (0.0, 40.0), (40.0, 100.0)])
    front = Frontier.of(run, "a")
    assert front.unfairness.mean(axis=1).tolist() == [0.0, 20.0, 40.0]
    assert front.reward.mean(axis=1).tolist() == [40.0, 80.0, 100.0]
    assert [front.at(level).mean() for level in (0.0, 5.0, 20.0, 30.0, 40.0)] == [40.0, 50.0, 80.0, 90.0, 100.0]
    assert Frontier.everywhere(run, "a").unfairness.shape == (5, 3)


def test_lanes_carry_the_error_of_the_line() -> None:
    # To first order the line moves with both means; small changes of a lane show it.
    rng = np.random.default_rng(0)
    missing = np.array([[10.0], [30.0]]) + rng.normal(0.0, 1e-3, (2, 40))
    reward = np.array([[50.0], [80.0]]) + rng.normal(0.0, 1e-3, (2, 40))
    values = Frontier(missing, reward).at(25.0)
    assert values.mean() == pytest.approx(np.interp(25.0, missing.mean(axis=1), reward.mean(axis=1)), abs=1e-12)
    lines = [np.interp(25.0, missing[:, lane], reward[:, lane]) for lane in range(40)]
    # Second order terms are of the square of a thousandth.
    np.testing.assert_allclose(values, lines, atol=1e-5)


@pytest.mark.parametrize(("reward", "expected"), [(60.0, True), (41.0, False)])
def test_more_reward_at_the_same_unfairness(reward: float, expected: bool) -> None:
    ours, theirs = [(0.0, 40.0), (10.0, reward), (30.0, 100.0)], [(0.0, 39.0), (20.0, 70.0)]
    found = claims.earns_more(frontier_run(ours=ours, theirs=theirs), "ours", "theirs", "here")
    assert found.holds == expected
    # Compared with 2, 6, 10, 14 and 18 plays missing; theirs earn 39 + 1.55 a play.
    leads = [np.interp(at, [0, 10, 30], [40, reward, 100]) - (39 + 1.55 * at) for at in (2, 6, 10, 14, 18)]
    assert found.effect == pytest.approx(min(leads))


def test_nothing_in_common_confirms_nothing() -> None:
    run = frontier_run(ours=[(0.0, 40.0), (1.5, 50.0)], theirs=[(0.0, 30.0), (20.0, 40.0)])
    found = claims.earns_more(run, "ours", "theirs", "here")
    assert (found.effect, found.expected, found.holds) == (1.5, "at least 2", False)  # less than a play an arm


@pytest.mark.slow
def test_the_highest_reward_is_claimed_of_the_right_policy() -> None:
    # LFG explores by far the most among 20 arms.
    part = "f5-k20-tau05-bernoulli"
    ours = [f"{HARD} penalties={value}" for value in ("0.1", "0.3", "0.7")]
    theirs = [f"{LFG} eta={value}" for value in ("225", "125", "0")]
    right = run_of(part, 3000, 6, {label: label for label in ours + theirs})
    wrong = run_of(part, 3000, 6, dict(zip(ours + theirs, theirs + ours, strict=True)))
    confirmed = claims.earns_more(right, HARD, LFG, "here")
    refused = claims.earns_more(wrong, HARD, LFG, "here")
    assert confirmed.holds
    assert not refused.holds


# --- films: F-3 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("films", FILMS)
def test_grids_belong_to_the_number_of_films(films: int) -> None:
    given = tomllib.loads((FOLDER / f"f3-{films}.toml").read_text(encoding="utf-8"))
    assert film_grids(given, films) == given
    assert config.parse(given).environment.arms == films
    for policy, name in zip(given["policies"][1:], ("tolerance", "eta"), strict=True):
        expected = [(1.0 - eta) * 0.8 / films * given["horizon"] for eta in given["policies"][0]["grid"]["penalties"]]
        assert policy["grid"][name] == pytest.approx(expected, abs=1e-6)


def films_in(folder: Path, totals: list[int]) -> Path:
    """A copy of MovieLens 1M in which films have these numbers of ratings."""
    (folder / "movies.dat").write_text("".join(f"{film}::Film {film}::Drama\n" for film in range(len(totals))))
    lines = [f"{user}::{film}::4::0\n" for film, total in enumerate(totals) for user in range(total)]
    (folder / "ratings.dat").write_text("".join(lines))
    return folder


@pytest.mark.parametrize(
    ("totals", "films", "more_than", "arms"),
    [
        # As many above 2,500 as in MovieLens 1M: the paper's number of ratings.
        ([2600] * 13 + [2400], 13, 2500, 13),
        # A small copy: 12 films are nearer to 13 than 15 are.
        ([9] * 12 + [7] * 3, 13, 7, 12),
        # A large one: more than 13 above 2,500, so that 2,700 is taken.
        ([2800] * 13 + [2700, 2600], 13, 2700, 13),
        # Fewer films than in the paper: all of them.
        ([5, 4, 3], 118, 0, 3),
    ],
)
def test_a_copy_of_movielens_gives_the_films(
    totals: list[int], films: int, more_than: int, arms: int, tmp_path: Path
) -> None:
    given = tomllib.loads((FOLDER / f"f3-{films}.toml").read_text(encoding="utf-8"))
    changed = on_films(given, films_in(tmp_path, totals))
    assert changed["environment"]["dataset"] == {"kind": "popular", "path": str(tmp_path), "more_than": more_than}
    setup = config.parse(changed)
    assert setup.environment.arms == arms
    assert list(changed["environment"]["fractions"]) == [round(0.8 / arms, 10)] * arms
    assert [policy["label"] for policy in changed["policies"]] == list(claims.POLICIES)
    assert changed["policies"][1]["grid"]["tolerance"][0] == pytest.approx(0.98 * 0.8 / arms * given["horizon"])


# --- plays against inverse gaps: F-4 ----------------------------------------------------------------------------------


def test_arms_and_penalties_are_those_of_the_cases(runs: Runs) -> None:
    assert [claims.penalty(runs[part]) for part in claims.GAP_CASES] == [0.45, 0.41, 0.45, 0.45, 0.45, 0.45]
    found = {part: [len(numbers) for numbers in claims.arms_of(part, runs[part])] for part in claims.GAP_CASES}
    # Case 1: means 0.9 and 0.4, 0.3, 0.2, 0.1 further than 0.45; critical case 2: 0.85, 0.84, 0.83, 0.82 within it.
    assert [count for count, _ in found.values()] == [4, 4, 4, 4, 4, 4]
    assert all(places == inverse for places, inverse in found.values())
    places, inverse = claims.arms_of("f4-noncritical-1", runs["f4-noncritical-1"])
    assert places.tolist() == [5, 6, 7, 8]
    np.testing.assert_allclose(inverse, [1 / 0.05**2, 1 / 0.15**2, 1 / 0.25**2, 1 / 0.35**2])
    places, inverse = claims.arms_of("f4-critical-2", runs["f4-critical-2"])
    assert places.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(inverse, [1 / 0.05**2, 1 / 0.06**2, 1 / 0.07**2, 1 / 0.08**2])


def test_lines_and_powers() -> None:
    inverse = np.array([1.0, 2.0, 4.0])
    plays = np.array([[3.0, 6.0, 12.0], [5.0, 6.0, 8.0], [1.0, 4.0, 16.0]])  # 3x, 4 + x, x²
    np.testing.assert_allclose(claims.straightness(inverse, plays)[:2], 1.0)
    # Of x² at 1, 2 and 4: sums of squares about the means 14/3 and 126, of products 24.
    np.testing.assert_allclose(claims.straightness(inverse, plays)[2], 24.0**2 / (14.0 / 3.0 * 126.0))
    np.testing.assert_allclose(claims.power(inverse, plays)[[0, 2]], [1.0, 2.0])


def fourth(plays: Mapping[str, Mapping[int, float]]) -> Runs:
    """The cases of F-4 with made-up plays of some arms, alike in three lanes; the others have those of the level."""
    found = {}
    for part in claims.GAP_CASES:
        setup = config.load(FOLDER / f"{part}.toml", lanes=3)
        pulls = np.full((1, 3, 9), 1000.0)
        for arm, count in plays.get(part, {}).items():
            pulls[..., arm] = count
        promised = {HARD: np.full(9, 0.05)}
        records = {HARD: SimpleNamespace(pulls=pulls)}
        results = SimpleNamespace(
            policies=records, rounds=np.array([20_000]), promised=promised, information={"lanes": 3}
        )
        found[part] = CompletedRun(cast(Any, results), setup)
    return found


def test_proportion_is_claimed_off_the_level_only() -> None:
    claim = claim_of("F-4", "plays of non-critical arms are proportional")
    # Case 1: 12 plays for each unit of the inverse gap, the arm nearest to critical at the level.
    inverse = {6: 1 / 0.15**2, 7: 1 / 0.25**2, 8: 1 / 0.35**2}
    right = fourth({"f4-noncritical-1": {arm: 12 * gap for arm, gap in inverse.items()}})
    assert [finding.effect for finding in claim.test(right)] == [pytest.approx(1.0)]
    assert holds(claim, right)
    wrong = fourth({"f4-noncritical-1": {arm: 100 * gap**0.5 for arm, gap in inverse.items()}})
    assert [finding.effect for finding in claim.test(wrong)] == [pytest.approx(0.5)]
    assert not holds(claim, wrong)


def test_without_a_line_nothing_is_confirmed() -> None:
    (found,) = claim_of("F-4", "plays of critical arms are proportional").test(
        fourth({"f4-critical-1": {1: 1500, 2: 1200}})
    )
    assert (found.effect, found.expected, found.holds) == (2, "at least 3", False)


def test_a_line_need_not_go_through_nothing() -> None:
    claim = claim_of("F-4", "plays of critical arms lie on a straight line")
    inverse = {1: 1 / 0.05**2, 2: 1 / 0.06**2, 3: 1 / 0.07**2, 4: 1 / 0.08**2}
    line = fourth({"f4-critical-2": {arm: 1100 + 3 * gap for arm, gap in inverse.items()}})
    assert holds(claim, line)
    bent = fourth({"f4-critical-2": dict(zip(inverse, (1100, 2500, 2400, 2450), strict=True))})
    assert not holds(claim, bent)


def test_the_level_is_where_plays_stop() -> None:
    claim = claim_of("F-4", "At the fairness level")
    assert holds(claim, fourth({}))
    assert holds(claim, fourth({"f4-noncritical-2": {6: 400}, "f4-critical-1": {1: 3000}}))
    assert not holds(claim, fourth({"f4-noncritical-2": {6: 1400}}))
    assert not holds(claim, fourth({"f4-critical-1": {1: 990}}))


def test_bounds_on_plays() -> None:
    run = fourth({})["f4-noncritical-1"]
    log = 8 * np.log(20_000)  # 79.2
    # 79.2/0.05² and 79.2/0.15² are beyond the level of 1000; 79.2/0.35² = 647 is not, and above 79.2/0.8².
    np.testing.assert_allclose(claims.bounds_of("f4-noncritical-1", run)[[0, 1, 3]], [1000, 1000, log / 0.35**2])
    run = fourth({})["f4-critical-1"]
    np.testing.assert_allclose(claims.bounds_of("f4-critical-1", run)[[0, 3]], [log / 0.04**2, 1000])


def test_real_plays_show_what_the_made_up_ones_do() -> None:
    # 20,000 rounds of three lanes: the arms off the level are those that the gaps say.
    run = run_of("f4-noncritical-2", 20_000, 3)
    inverse, plays = claims.off_the_level("f4-noncritical-2", run)
    np.testing.assert_allclose(inverse, [1 / 0.14**2, 1 / 0.24**2, 1 / 0.34**2, 1 / 0.44**2])
    assert (np.diff(plays.mean(axis=0)) < 0).all()


# --- section 5: F-6 ---------------------------------------------------------------------------------------------------


def test_the_soft_threshold_falls_short_and_the_hard_one_does_not() -> None:
    def runs(**played: str) -> Runs:
        policies = {HARD: HARD, claims.SOFT: claims.SOFT} | {
            label.replace("_", " "): by for label, by in played.items()
        }
        return {"f6-promises": run_of("f6-promises", 2000, 8, policies, checkpoints=20)}

    kept, short, more = BY_ID["F-6"].claims[:3]
    right = runs()
    assert holds(kept, right)
    assert holds(short, right)
    assert holds(more, right)
    assert not holds(kept, runs(hard_threshold=claims.SOFT))
    wrong = runs(soft_threshold=HARD)
    assert not holds(short, wrong)
    assert not holds(more, wrong)


def test_explore_then_commit_explores_as_long_as_its_horizon_asks() -> None:
    policies = config.load(FOLDER / "f6-commit.toml").policies
    for rounds in claims.COMMITS:
        schedule: Any = policies[f"{claims.COMMIT} T={rounds}"].schedule
        assert schedule.quotas.sum() == pytest.approx((rounds**2 * np.log(rounds)) ** (1 / 3), rel=0.02)


def test_the_problem_of_the_thresholds_is_that_of_theorem_4_1() -> None:
    environment = config.load(FOLDER / "f6-promises.toml").environment
    means, fractions, penalties = (
        np.asarray(v) for v in (environment.means, environment.fractions, environment.penalties)
    )
    assert (penalties - (means.max() - means) >= fairness_margin(40_000, fractions)).all()


# --- shares that vanish: F-7 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", claims.VANISHING)
def test_shares_vanish_with_the_horizon_and_penalties_exceed_the_gaps(part: str) -> None:
    setup = config.load(FOLDER / f"{part}.toml")
    assert part == f"f7-{setup.horizon}"
    for label, power in zip(claims.POWERS, (0.25, 0.5, 0.75), strict=True):
        shares = setup.policies[label].fractions
        assert shares is not None
        np.testing.assert_allclose(shares, setup.horizon**-power, rtol=1e-4)
    assert setup.environment.penalties is not None
    gaps = setup.environment.means.max() - setup.environment.means
    assert (setup.environment.penalties - gaps >= 1.0).all()  # whatever the share and the horizon are


def test_vanishing_shares_that_are_not_kept_are_noticed() -> None:
    right = {part: run_of(part, 2000, 10, checkpoints=4) for part in claims.VANISHING}
    kept = claim_of("F-7", "gives every arm its share")
    assert holds(kept, right)
    for run in right.values():
        for label in claims.POWERS:
            run.results.policies[label].pulls[-1][:, 1] = 0
    assert not any(finding.holds for finding in kept.test(right) if "b = 3/4" not in finding.text)


@pytest.mark.parametrize(("power", "holds"), [(0.0, True), (0.3, True), (0.75, False)])
def test_a_penalised_regret_beyond_a_root_is_not_logarithmic(power: float, holds: bool) -> None:
    made = {}
    for part in claims.VANISHING:
        rounds = int(part.partition("-")[2])
        record = SimpleNamespace(curves={"penalized_regret": rounds**power * np.linspace(0.9, 1.1, 20)[np.newaxis]})
        results = SimpleNamespace(policies=dict.fromkeys(claims.POWERS, record), rounds=np.array([rounds]))
        made[part] = CompletedRun(cast(Any, results), cast(Any, SimpleNamespace(horizon=rounds)))
    assert [one.holds for one in claim_of("F-7", "The penalised regret is of order").test(made)] == [holds] * 3
