"""What a promise costs, from logs of known laws, environments and bandits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand import Bandit, Environment
from evenhand.availability import Joint
from evenhand.bandit.evaluation.price import PROMISES
from evenhand.cli.main import run
from evenhand.core.errors import EvenhandError, InfeasiblePromise
from evenhand.evaluation import Log, price
from evenhand.rewards import Bernoulli
from evenhand.studies.configuration import load
from evenhand.theory.oracle import optimal, optimal_fair
from evenhand.theory.prices import cost_of_shares
from tests.bandit.evaluation.synthetic import sales

WORLD = Environment(Bernoulli([0.9, 0.4, 0.6]), names=("tea", "mate", "cocoa"))


def missed(seed: int, rounds: int, missing: str, *, dependent: bool) -> bool:
    """Whether the curve misses the true price anywhere."""
    made = sales(seed, rounds, missing, dependent=dependent)
    found = price(made.log, rounds=1)
    for share, point in zip(PROMISES, found.curve, strict=True):
        truth = float(cost_of_shares(made.means[np.newaxis], np.full(4, share), 1)[0])
        if not point.low - 1e-9 <= truth <= point.high + 1e-9:
            return True
    return False


@pytest.mark.parametrize("missing", ["zero", "never"])
def test_the_curve_covers_the_truth(missing: str) -> None:
    assert sum(missed(seed, 5000, missing, dependent=True) for seed in range(5)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("dependent", [True, False])
@pytest.mark.parametrize("missing", ["zero", "lost", "never"])
def test_the_curve_covers_the_truth_in_many_logs(missing: str, dependent: bool) -> None:
    """In 400 logs of 20,000 decisions altogether: no more misses than a coverage of 95 % allows (99.9 % bound)."""
    assert sum(missed(seed, 20_000, missing, dependent=dependent) for seed in range(67)) <= 10


def test_an_environment_has_an_exact_price_and_a_simulated_one() -> None:
    found = price(WORLD, [0.1, 0.2], rounds=3000, policy="fucb")
    assert [one.steady for one in found.curve] == pytest.approx([0.08, 0.16])
    assert (found.curve[0].low, found.curve[0].high) == pytest.approx((0.08, 0.08))
    assert found.curve[1].shares == pytest.approx({"tea": 0.6, "mate": 0.2, "cocoa": 0.2})
    assert {one.arm: one.dual for one in found.by_arm} == pytest.approx({"tea": 0.0, "mate": 0.5, "cocoa": 0.3})
    assert found.curve[0].run == pytest.approx(0.08, abs=0.03)
    assert found.curve[0].learning == pytest.approx(found.curve[0].run - 0.08)  # type: ignore[operator]
    assert found.claim == "holds"
    assert "cost 0.16 per round, 17.8% of that." in found.sentences[1]


@pytest.mark.slow
def test_with_several_plays_it_is_the_difference_of_the_two_optima(capsys: pytest.CaptureFixture[str]) -> None:
    """The films of the example: 1.3866 per round, and 1.3717 with 30 % for every film."""
    films = Path(__file__).parents[3] / "examples" / "films.toml"
    setup = load(films)
    means, who = setup.environment.means, setup.environment.availability
    best = optimal(means, 2, who).value - optimal_fair(means, np.full(5, 0.3), 2, who).value
    assert run(["price", str(films), "--promise", "0.3", "--rounds", "400", "--json"]) == 0
    (point,) = json.loads(capsys.readouterr().out)["curve"]
    assert point["steady"] == pytest.approx(best)
    assert best == pytest.approx(1.3866 - 1.3717, abs=1e-4)


def test_a_log_with_several_plays_per_decision_is_priced_with_as_many() -> None:
    rng = np.random.default_rng(8)
    item = np.concatenate([rng.permutation(4)[:2] for _ in range(3000)])
    click = (rng.random(6000) < np.array([0.8, 0.6, 0.4, 0.2])[item]).astype(int)
    rows = {"time": np.repeat(np.arange(3000), 2), "decision_id": np.repeat(np.arange(3000), 2), "item": item}
    found = price(Log.of(pd.DataFrame(rows | {"click": click})), [0.25], rounds=200)
    assert found.best == pytest.approx(1.4, abs=0.05)
    assert found.curve[0].low < 0.15 < found.curve[0].high
    assert sum(found.curve[0].shares.values()) == pytest.approx(2.0)


@pytest.mark.slow
def test_groups_caps_and_sleeping_arms_are_priced_by_their_programs() -> None:
    found = price(
        WORLD,
        [
            {"fractions": {"mate": 0.1}},
            {"caps": {"tea": 0.5}},
            {"groups": [{"name": "hot", "arms": ["mate", "cocoa"], "at_least": 0.3}]},
        ],
        policy="group_ucb",
        rounds=50,
    )
    assert [one.steady for one in found.curve] == pytest.approx([0.05, 0.15, 0.09])
    sleeping = Environment(Bernoulli([0.9, 0.4]), Joint([[1, 1], [0, 1]], [0.6, 0.4]), names=("tea", "mate"))
    assert price(sleeping, [0.5], rounds=50).curve[0].steady == pytest.approx(0.05)
    with pytest.raises(InfeasiblePromise):
        price(sleeping, [0.49, {"fractions": {"tea": 0.7}}], rounds=50)


@pytest.mark.parametrize(
    ("promise", "message"),
    [
        ({"fractions": {"tea": "x"}}, "fractions.tea must be a number, got 'x'"),
        ({"fractions": {"tea": 1.5}}, r"fractions.tea must be .* got 1.5"),
        ({"fractions": 0.1, "segments": {"DE": {"tea": 0.2}}}, "unknown key 'segments'; a promise has fractions, caps"),
    ],
)
def test_what_is_no_promise_is_said(promise: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        price(WORLD, [promise], rounds=10)


def test_one_share_for_all_is_said_with_its_number() -> None:
    assert price(WORLD, [{"fractions": 0.1}], rounds=10).curve[0].promise == "fractions 0.1"


def test_shares_by_merit_cost_what_the_ads_of_the_example_miss() -> None:
    setup = load(Path(__file__).parents[3] / "examples" / "ads.toml")
    (policy,) = {one.plays for one in setup.policies.values()}
    merit = next(iter(setup.policies.values())).merit
    found = price(setup.environment, [{"merit": merit}, 0.1], rounds=50, plays=policy)
    assert found.curve[0].steady == pytest.approx(1.1 - 0.8545, abs=1e-4)
    assert found.curve[0].low <= found.curve[0].steady <= found.curve[0].high
    assert found.curve[0].run is None
    assert found.curve[1].run is not None
    assert found.figure().axes
    with pytest.raises(EvenhandError, match="or merit"):
        price(WORLD, [{"merit": "linear", "fractions": 0.1}], rounds=10)


def test_a_bandit_is_priced_by_its_rewards_so_far() -> None:
    bandit = Bandit(["tea", "mate", "old"], "fucb", fractions=[0.1, 0.1, 0.0], rewards=(0, 10), words={"unit": "€"})
    for round in range(600):
        decision = bandit.decide(now=float(round))
        bandit.observe(decision.id, {arm: {"tea": 9.0}.get(arm, 5.0) for arm in decision.names}, now=float(round))
    bandit.retire("old")
    found = price(bandit, [0.1])
    cost = bandit.audit(now=600.0).cost
    assert (found.rounds, found.curve[0].run, found.unit) == (0, None, "€")
    assert cost is not None
    assert cost.per_round is not None
    assert found.curve[0].low < 0.4 < found.curve[0].high
    assert "learned beforehand" not in " ".join(found.assumptions)
    assert not any(one.startswith("Take") for one in found.sentences)
    today, known = price(bandit).curve[1], {one.arm: one for one in bandit.audit(now=600.0).lines}
    assert today.promise == "10%"
    for point in (today, found.curve[0]):
        assert (point.steady, point.low, point.high) == pytest.approx((cost.per_round, cost.low, cost.high), rel=1e-12)
    assert "The promise in force, of 10% to each of 2 arms, costs" in found.sentences[1]
    assert "A promise of 5% to each of 2 arms would cost" in price(bandit, [0.05]).sentences[1]
    assert all(one.high - one.low > known[one.arm].high - known[one.arm].low for one in found.by_arm)  # type: ignore[operator]
    assert "for all promises and all arms together" in found.holds


def test_a_promise_among_equal_arms_costs_nothing() -> None:
    bandit = Bandit(["tea", "mate", "cola"], "fucb", fractions=0.1)
    decision = bandit.decide(now=0.0)
    bandit.observe(decision.id, dict.fromkeys(decision.names, 1.0), now=0.0)
    assert [point.steady for point in price(bandit, [0.05, 0.1, 0.15]).curve] == [0.0, 0.0, 0.0]


def test_unequal_promises_in_force_cost_what_the_audit_says() -> None:
    bandit = Bandit(["tea", "mate"], "f_ts", fractions=[0.0, 0.3], seed=1)
    with pytest.raises(EvenhandError, match="No reward of an arm is known yet"):
        price(bandit)
    for round in range(50):
        decision = bandit.decide(now=float(round))
        bandit.observe(decision.id, {arm: 1.0 * (arm == "tea") for arm in decision.names}, now=float(round))
    found, cost = price(bandit), bandit.audit(now=60.0).cost
    assert cost is not None
    assert [one.promise for one in found.curve] == ["the promise in force", "5%", "10%", "15%"]
    assert (found.curve[0].steady, found.curve[0].high) == (cost.per_round, cost.high)
    assert found.sentences[1].startswith("The promise in force costs")


def test_what_would_narrow_the_interval_is_named() -> None:
    bandit = Bandit(["tea", "mate"], "fucb", fractions=0.1, window=5.0, missing="lost")
    for round in range(400):
        decision = bandit.decide(now=float(round))
        if round % 2:
            bandit.observe(decision.id, {arm: 1.0 * (arm == "tea") for arm in decision.names}, now=float(round))
    found = price(bandit)
    assert "200 of 400 plays have no known reward" in found.assumptions[-1]
    assert "what would narrow it most: the rewards that are not known of" in found.unknown[0]


def test_the_recommended_algorithm_is_simulated() -> None:
    found = price(WORLD, [0.1], rounds=50)
    assert (found.policy, found.recommended) == ("f_ts", "f_ts")
    grouped = price(WORLD, [{"groups": [{"name": "hot", "arms": ["mate", "cocoa"], "at_least": 0.3}]}], rounds=50)
    assert grouped.policy == grouped.recommended
    assert grouped.policy.startswith("group")


def test_the_command_takes_a_saved_bandit_and_refuses_what_does_not_apply(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bandit = Bandit(["tea", "mate"], "fucb", fractions=0.1)
    decision = bandit.decide(now=0.0)
    bandit.observe(decision.id, dict.fromkeys(decision.names, 1.0), now=0.0)
    file = str(tmp_path / "bandit.json")
    bandit.save(file)
    assert run(["price", file, "--promise", "20%"]) == 0
    assert "A promise of 20% to each of 2 arms would cost" in capsys.readouterr().out
    applies = {"--algorithm": "fucb", "--rounds": "9", "--seed": "0", "--column": "reward=x", "--missing": "zero"}
    for option, value in {**applies, "--window": "1", "--rewards": "0,1", "--unit": "€"}.items():
        assert run(["price", file, option, value]) == 2
        assert f"{option} is for a log" in capsys.readouterr().err
    assert run(["price", "world.toml", "--column", "reward=x"]) == 2
    assert "--column is for a log; this is a configuration" in capsys.readouterr().err


def test_promises_that_are_too_large_are_refused_and_those_by_default_shrink() -> None:
    many = Environment(Bernoulli(np.linspace(0.1, 0.9, 40)))
    assert [one.promise for one in price(many, rounds=10).curve] == ["0.63%", "1.3%", "1.9%"]
    with pytest.raises(InfeasiblePromise, match=r"0\.1 for each of 40 arms is 4 plays per round, and there is 1"):
        price(many, [0.1])
    with pytest.raises(EvenhandError, match="at least one share"):
        price(many, [])
    with pytest.raises(EvenhandError, match="unknown arm 'te'; did you mean 'tea'"):
        price(WORLD, [{"fractions": {"te": 0.1}}])


def test_what_is_beyond_the_log_is_called_an_extrapolation() -> None:
    found = price(sales(3, 2500).log, [0.1], rounds=3000)
    assert any("is an extrapolation" in one for one in found.unknown)
    assert any("what would narrow it most" in one for one in found.unknown)
    assert "€" in found.sentences[1]


def test_it_is_shown_as_page_figure_and_json() -> None:
    found = price(WORLD, [0.1, 0.2], rounds=50)
    assert "<svg" in found._repr_html_()
    assert len(found.figure().axes[0].get_xticks()) == 2
    assert json.loads(json.dumps(found.to_json()))["curve"][0]["promise"] == "10%"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    item = rng.integers(0, 3, 2000)
    euros = np.where(rng.random(2000) < np.array([0.3, 0.6, 0.5])[item], 10.0, np.nan)
    frame = pd.DataFrame({"second": range(2000), "product": np.array(["tea", "coffee", "cocoa"])[item], "euros": euros})
    frame.to_csv(tmp_path / "sales.csv", index=False)
    return tmp_path / "sales.csv"


MAPPED = ["--column", "timestamp=second", "--column", "reward=euros", "--rewards", "0,10", "--unit", "€"]


def test_the_command_asks_what_blanks_mean_and_then_answers(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["price", str(shop), *MAPPED]) == 2
    assert "--missing zero where only successes are reported" in capsys.readouterr().err
    assert run(["price", str(shop), *MAPPED, "--missing", "zero", "--rounds", "50"]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "A promise of 10% to each of 3 arms would cost" in shown
    assert run(["price", str(shop), "--promise", "0.1", "--rounds", "50", "--json"]) == 0  # all of that is kept
    (point,) = json.loads(capsys.readouterr().out)["curve"]
    assert point["low"] <= 0.4 <= point["high"]


def test_one_promise_needs_no_list() -> None:
    world = Environment(Bernoulli([0.9, 0.4]), names=("tea", "mate"))
    curve = price(world, [0.1], rounds=20).curve
    assert price(world, 0.1, rounds=20).curve == curve
    with pytest.raises(EvenhandError, match=r"a promise must be a number, got '0\.1'"):
        price(world, "0.1")  # type: ignore[arg-type]
    tables = price(world, {"fractions": {"mate": 0.1}}, rounds=20).curve
    assert tables[0].steady == pytest.approx(curve[0].steady)


def test_a_command_that_fails_keeps_nothing(shop: Path) -> None:
    options = [*MAPPED, "--missing", "zero"]
    kept = shop.with_suffix(".columns.toml")
    for wrong in (["price", str(shop), "--algorithm", "fuc"], ["report", str(shop), "--promise", "0.9"]):
        assert run([*wrong, *options]) == 2
        assert not kept.exists()
    assert run(["price", str(shop), "--rounds", "20", *options]) == 0
    assert kept.exists()


def test_the_command_prices_a_configuration_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "world.toml"
    config.write_text(
        'horizon = 100\npolicies = [{ algorithm = "fucb", fractions = [0.1, 0.1] }]\n'
        '[environment]\nrewards = { kind = "bernoulli", means = [0.9, 0.5] }\n'
    )
    out = tmp_path / "price.svg"
    assert run(["price", str(config), "--promise", "0.1", "--rounds", "50", "--out", str(out)]) == 0
    assert "would cost 0.04 per round" in capsys.readouterr().out
    assert out.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--promise", "a"), "--promise must be a share from 0 to 1, such as 0.1 or 10%"),
        (("--promise", "10"), "--promise must be a share from 0 to 1, such as 0.1 or 10%, got '10'"),
        (("--promise", "0.1,0.2", "--start", "x"), "--start needs one promise"),
        (("--promise", "0.5"), "promise at most 0.3333 each"),
    ],
)
def test_the_command_refuses(
    shop: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["price", str(shop), *MAPPED, "--missing", "zero", *words]) == 2
    assert message in capsys.readouterr().err


def test_means_have_intervals_for_one_look_where_the_policy_did_not_learn_and_rewards_are_many() -> None:
    rng = np.random.default_rng(5)
    item = rng.integers(2, size=4000)
    reward = np.where(item == 0, rng.random(4000) < 0.3, False).astype(float)
    reward[np.flatnonzero(item == 1)[0]] = 1.0  # the only reward of the second item
    rows = {"time": np.arange(4000), "item": item, "reward": reward}
    first, second = price(Log.of(pd.DataFrame(rows)), [0.1], rounds=1).by_arm
    count, mean = (item == 0).sum(), reward[item == 0].mean()
    half = 2.2414 * np.sqrt(mean * (1.0 - mean) / count)  # 98.75 % of a normal distribution lie below
    assert (first.low, first.high) == pytest.approx((mean - half, mean + half), abs=1e-4)
    assert second.high > 4.0 / (item == 1).sum()  # of a sequence: a single reward says little
    learned = rows | {"propensity_score": np.where(np.arange(4000) < 2000, 0.5, 0.4)}
    found = price(Log.of(pd.DataFrame(learned)), [0.1], rounds=1)
    assert found.by_arm[0].high - found.by_arm[0].low > 1.5 * 2.0 * half
    assert not any("did not learn" in one for one in found.premises)
