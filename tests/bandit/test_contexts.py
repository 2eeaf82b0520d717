"""Features in a bandit: decisions are told them, and rewards meet those of their own pull, however late they come."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from attrs import frozen

from evenhand import Bandit, EvenhandError, Features, Feedback, Observation, Round, State
from evenhand.bandit import decisions
from evenhand.bandit.contexts import Contexts, Elsewhere
from evenhand.bandit.decisions import decide
from evenhand.bandit.replay import replay_decision, replay_expiry, replay_rewards
from evenhand.bandit.rewards import close
from evenhand.changes import AddArm, Erase, Redeclare
from evenhand.core.parts import part
from evenhand.core.state import Array
from evenhand.errors import StateError
from evenhand.features import Category, Flag, Number
from evenhand.policy import Index, Traits

ARMS = ["tea", "coffee", "mate"]
SITUATION = Features({"country": Category(["DE", "FR"]), "age": Number(0, 100)})
BOTH = Features(
    {"country": Category(["DE", "FR"]), "age": Number(0, 100)},
    arms={"price": Number(0, 50)},
    crosses=[("country", "price")],
)
PRICES = {"tea": {"price": 2}, "coffee": {"price": 3}}


@part("index", "rewarded_features")
@frozen
class RewardedFeatures(Index):
    """Scores by Σ r φ of each arm, in the order of the rewards: what it is told can be read off."""

    traits = Traits(contextual=True, exact=True)

    def start(self, shape: Any) -> Array:
        return np.zeros((*shape, sum(shape.columns)))

    def grow(self, memory: Array, arms: int) -> Array:
        return np.concatenate([memory, np.zeros((arms - len(memory), memory.shape[1]))])

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        told = feedback.answers
        assert told is not None
        assert told.situation is not None
        rows = told.situation if told.arms is None else np.hstack([told.situation, told.arms])
        for place, reward, row in zip(told.places, told.rewards, rows, strict=True):
            state.index[place] += reward * row

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        assert observation.situation is not None
        rows = np.broadcast_to(observation.situation, (state.arms, len(observation.situation)))
        rows = rows if observation.arms is None else np.hstack([rows, observation.arms])
        return np.asarray((state.index * rows).sum(axis=-1))


POLICY = {"index": "rewarded_features", "fairness": {"kind": "deficit_first", "fractions": 0.2}}


def of(features: Features, **options: Any) -> Bandit:
    return Bandit(ARMS, POLICY, features=features, **options)


def anybody(rng: np.random.Generator) -> dict[str, Any]:
    return {"country": str(rng.choice(["DE", "FR", "IT"])), "age": float(rng.random() * 120.0)}


# --- Decisions --------------------------------------------------------------------------------------------------------


def test_a_late_reward_meets_the_features_of_its_own_pull() -> None:
    bandit = of(SITUATION)
    first, second = bandit.decide({"country": "DE", "age": 25}), bandit.decide({"country": "FR", "age": 100})
    bandit.observe(second.id, {second.names[0]: 1.0})
    bandit.observe(first.id, {first.names[0]: 0.5})
    index = bandit._record.state.index
    assert index[ARMS.index(first.names[0])].tolist() == [0.5, 0.5, 0.0, 0.0, 0.125]
    assert index[ARMS.index(second.names[0])].tolist() == [1.0, 0.0, 1.0, 0.0, 1.0]
    contexts = bandit._record.contexts
    assert contexts is not None
    assert not contexts.pulls  # nothing is kept of whom all rewards are known


def test_features_of_a_decision_go_before_those_of_the_arm() -> None:
    bandit = of(BOTH, arm_features=PRICES)
    decision = bandit.decide({"country": "FR", "age": 0}, arms={"tea": {"price": 25}, "mate": {"price": 10}})
    assert decision.names == ("tea",)
    bandit.observe(decision.id, {"tea": 1.0})
    #                                                          1, DE, FR, other, age, price and its crosses
    assert bandit._record.state.index[0].tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.0, 0.5, 0.0]
    decision = bandit.decide({"country": "FR", "age": 0}, available=["tea"])
    bandit.observe(decision.id, {"tea": 1.0})
    assert bandit._record.state.index[0, 5] == 0.5 + 0.04


def test_features_of_arms_that_cannot_play_need_not_be_known() -> None:
    bandit = of(BOTH, arm_features=PRICES)
    with pytest.raises(EvenhandError, match=r"arms\.mate\.price is missing"):
        bandit.decide({"country": "FR", "age": 0})
    assert bandit.decide({"country": "FR", "age": 0}, available=["tea", "coffee"]).names
    assert bandit.decide({"country": "FR", "age": 0}, arms={"mate": {"price": 1}}).names


def test_all_faults_are_told_at_once_with_their_paths() -> None:
    bandit, before = of(BOTH, arm_features=PRICES), of(BOTH, arm_features=PRICES).dump()
    with pytest.raises(EvenhandError) as error:
        bandit.decide({"age": "x", "foo": 1}, arms={"tee": {}, "tea": {"price": None}, "mate": {"price": float("nan")}})
    assert [fault.path for fault in error.value.faults] == [
        ("features", "age"),
        ("features", "foo"),
        ("arms", "tee"),
        ("arms", "tea", "price"),
        ("arms", "mate", "price"),
    ]
    assert bandit.dump() == before


@pytest.mark.parametrize("given", [["DE", 25], "DE", 3])
def test_features_must_be_a_table(given: Any) -> None:
    with pytest.raises(EvenhandError, match="features must be a table of features by name"):
        of(SITUATION).decide(given)


def test_features_are_refused_where_none_are_declared() -> None:
    bandit = Bandit(ARMS, "ucb1")
    for given in ({"features": {"age": 1}}, {"arms": {"tea": {"price": 1}}}):
        with pytest.raises(EvenhandError, match="must be left out: this bandit was made without features"):
            bandit.decide(**given)
    with pytest.raises(EvenhandError, match="arm_features needs a declaration of the features"):
        Bandit(ARMS, "ucb1", arm_features=PRICES)
    with pytest.raises(EvenhandError, match="goes by features: declare them"):
        Bandit(ARMS, POLICY)
    with pytest.raises(EvenhandError, match=r"arm_features.tea.size: there is no such feature; there are price"):
        of(BOTH, arm_features={"tea": {"size": 1}})
    with pytest.raises(EvenhandError, match="features must be an object such as Features"):
        Bandit(ARMS, POLICY, features=3)  # type: ignore[arg-type]


def test_a_declaration_may_be_in_its_plain_form() -> None:
    plain = {"situation": {"age": {"kind": "number", "low": 0, "high": 100}}, "intercept": False}
    bandit = Bandit(ARMS, POLICY, features=plain)
    decision = bandit.decide({"age": 50})
    bandit.observe(decision.id, {"tea": 1.0})
    assert bandit._record.state.index[0].tolist() == [0.5]


def test_features_may_be_declared_for_a_policy_that_does_not_go_by_them() -> None:
    bandit, plain = Bandit(ARMS, "fucb", fractions=0.2, features=SITUATION), Bandit(ARMS, "fucb", fractions=0.2)
    for _ in range(30):
        one, other = bandit.decide({"country": "DE", "age": 130}, now=0.0), plain.decide(now=0.0)
        assert one == other
    contexts = bandit._record.contexts
    assert contexts is not None
    assert not contexts.pulls  # which would wait for nothing
    assert contexts.counts == {("age", "cut"): 30}


def test_several_arms_play_and_each_reward_meets_the_features_of_its_arm() -> None:
    bandit = Bandit(ARMS, {**POLICY, "selection": {"kind": "top_m", "plays": 2}}, plays=2, features=BOTH)
    decision = bandit.decide(
        {"country": "DE", "age": 0}, arms={"tea": {"price": 10}, "mate": {"price": 50}}, available=["tea", "mate"]
    )
    bandit.observe(decision.id, {"mate": 1.0})
    bandit.observe(decision.id, {"tea": 1.0})
    assert bandit._record.state.index[:, 5].tolist() == [0.2, 0.0, 1.0]
    (alone,) = bandit.decide({"country": "DE", "age": 0}, arms={"mate": {"price": 50}}, available=["mate"]).arms
    bandit.observe("2", {alone.arm: 1.0})
    assert bandit._record.state.index[2, 5] == 2.0


def test_rounds_are_decided_together_as_one_by_one() -> None:
    rng, alone, together = np.random.default_rng(1), of(SITUATION), of(SITUATION)
    rounds = [Round(anybody(rng), available=["tea", "mate"] if place % 3 else None) for place in range(20)]
    single = [alone.decide(one.features, available=one.available, now=0.0) for one in rounds]
    assert together.decide_many(rounds, now=0.0) == single
    assert together.dump() == alone.dump()


def test_rounds_whose_features_are_not_held_are_decided_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = [Round(anybody(np.random.default_rng(number))) for number in range(20)]
    expected = [one.names for one in of(SITUATION).decide_many(rounds)]
    monkeypatch.setattr(decisions, "HELD", 50)
    bandit = of(SITUATION)
    assert sum(one is None for one in decisions.checked_rounds(bandit._record, rounds)) > 5
    assert [one.names for one in bandit.decide_many(rounds)] == expected


def test_a_wrong_round_among_many_decides_none() -> None:
    bandit = of(SITUATION)
    rounds = [Round({"country": "DE", "age": 1}), Round({"age": "x"}), Round({"country": "DE", "age": 1}, available=[])]
    with pytest.raises(EvenhandError) as error:
        bandit.decide_many(rounds)
    assert [fault.path for fault in error.value.faults] == [("rounds", 1, "features", "age"), ("rounds", 2)]
    assert bandit.round == 0
    with pytest.raises(EvenhandError, match="must be a list of rounds such as Round"):
        bandit.decide_many([{"age": 1}])  # type: ignore[list-item]
    with pytest.raises(EvenhandError, match="rounds must be a list of rounds"):
        bandit.decide_many(3)  # type: ignore[arg-type]
    with pytest.raises(EvenhandError, match=r"rounds\[0\].features must be left out"):
        Bandit(ARMS, "ucb1").decide_many([Round({"age": 1})])


def test_a_lease_is_refused() -> None:
    with pytest.raises(EvenhandError, match="depend on the features of each round"):
        of(SITUATION).lease(10)


def test_counts_from_elsewhere_are_refused() -> None:
    with pytest.raises(EvenhandError, match="learns from the features of each play"):
        of(SITUATION, start_from={"tea": (3, 1)})


# --- Windows ----------------------------------------------------------------------------------------------------------


def test_a_missing_reward_that_counts_as_0_is_learned_with_its_features() -> None:
    bandit = of(SITUATION, window=10.0, missing="zero", rewards=(-1.0, 1.0))
    decision = bandit.decide({"country": "DE", "age": 50}, now=0.0)
    bandit.expire(now=11.0)
    assert bandit._record.state.index[0].tolist() == [0.5, 0.5, 0.0, 0.0, 0.25]  # 0 is 0.5 on the scale
    assert bandit.observe(decision.id, {"tea": 1.0}, now=12.0) == {"tea": "late"}
    assert bandit._record.state.index[0, 0] == 0.5


def test_features_of_lost_rewards_are_forgotten() -> None:
    bandit = of(SITUATION, window=10.0, missing="lost")
    bandit.decide({"country": "DE", "age": 50}, now=0.0)
    contexts = bandit._record.contexts
    assert contexts is not None
    assert len(contexts.pulls) == 1
    bandit.expire(now=11.0)
    assert not contexts.pulls


def test_a_reward_whose_features_are_erased_counts_and_is_not_learned_from() -> None:
    bandit = of(SITUATION, window=10.0, missing="zero")
    for now in (0.0, 1.0):
        bandit.decide({"country": "DE", "age": 50}, now=now)
    contexts = bandit._record.contexts
    assert contexts is not None
    contexts.forget([1, 2])
    assert bandit.observe("1", {"tea": 1.0}, now=2.0) == {"tea": "accepted"}
    assert close(bandit._record, 12.0) == {"closed": {"2": ["coffee"]}, "unlearned": [2]}
    assert not bandit._record.state.index.any()
    assert [line.received for line in bandit.audit(now=12.0).lines] == [1, 0, 0]


# --- Saving and logs --------------------------------------------------------------------------------------------------


def lived(bandit: Bandit, rounds: int = 60, seed: int = 0) -> Bandit:
    rng, waiting = np.random.default_rng(seed), []
    for now in range(rounds):
        arms = {"mate": {"price": float(rng.random() * 60.0)}} if bandit_features(bandit) == BOTH else None
        waiting.append(bandit.decide(anybody(rng), arms=arms, now=float(now)))
        if rng.random() < 0.7:
            decision = waiting.pop(int(rng.integers(len(waiting))))
            bandit.observe(decision.id, {arm: float(rng.random()) for arm in decision.names}, now=float(now))
    return bandit


def bandit_features(bandit: Bandit) -> Features:
    assert bandit._record.contexts is not None
    return bandit._record.contexts.features


def test_a_saved_bandit_has_its_pending_features_to_the_bit(tmp_path: Any) -> None:
    bandit = lived(of(BOTH, arm_features=PRICES, window=30.0, missing="lost"))
    assert bandit._record.contexts is not None
    assert len(bandit._record.contexts.pulls) > 5
    bandit.save(tmp_path / "bandit.json")
    again = Bandit.load(tmp_path / "bandit.json")
    assert again.dump() == bandit.dump()
    assert again._record.contexts is not None
    for round, pull in bandit._record.contexts.pulls.items():
        assert np.array_equal(again._record.contexts.pulls[round].values, pull.values)
    for one in (bandit, again):
        lived(one, 20, seed=1)
    assert again.dump()["state"] == bandit.dump()["state"]


@pytest.mark.parametrize("damage", ["widths", "values", "versions", "rounds"])
def test_damaged_features_are_refused(damage: str) -> None:
    plain = json.loads(json.dumps(lived(of(SITUATION)).dump()))
    pulls = plain["contexts"]["pulls"]
    pulls[damage] = pulls[damage][:-4]
    with pytest.raises(StateError, match="damaged"):
        Bandit.restored(plain)


def test_features_in_a_store_are_not_in_the_save() -> None:
    """A mapping other than a dictionary keeps them elsewhere."""
    bandit = lived(of(SITUATION))
    assert bandit._record.contexts is not None
    kept = bandit._record.contexts.pulls
    bandit._record.contexts.pulls = Elsewhere(kept)
    assert "pulls" not in bandit.dump()["contexts"]
    again = Bandit.restored(bandit.dump())
    assert again._record.contexts is not None
    again._record.contexts.pulls = Elsewhere(kept)
    assert lived(again, 20, seed=1).dump() == lived(bandit, 20, seed=1).dump()


def test_a_log_with_the_features_beside_it_replays() -> None:
    def made() -> Bandit:
        return of(BOTH, arm_features=PRICES, window=7.0, missing="zero")

    bandit, copy, rng, waiting = made(), made()._record, np.random.default_rng(2), list[Any]()
    for step in range(150):
        now, facts, record = float(step), dict[str, Any](), bandit._record
        if record.due(now):
            closed = close(record, now)
            replay_expiry(copy, closed["closed"], unlearned=closed.get("unlearned", ()))
        arms = {"mate": {"price": float(rng.random() * 60.0)}}
        made_of = None if step % 4 else ["tea", "mate"]
        decision = decide(record, made_of, now, False, facts, anybody(rng), arms)
        given = {name: value for name, value in facts.items() if name != "arms"}
        replay_decision(copy, decision.round, facts["arms"], now, **given)
        waiting.append(decision)
        if rng.random() < 0.8:
            decision = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.1:
                for one in (record, copy):
                    assert one.contexts is not None
                    one.contexts.forget([decision.round])
            rewards = {arm: float(rng.random()) for arm in decision.names}
            erased = bool(record.erased([decision.round]))
            statuses = bandit.observe(decision.id, rewards, now)
            late = [arm for arm, status in statuses.items() if status == "late"]
            replay_rewards(copy, decision.id, rewards, late, now, unlearned=erased and not late)
        assert copy.contexts is not None
    assert json.dumps(bandit.dump()) == json.dumps(Bandit.restored(bandit.dump()).dump())
    copied = made()
    copied._record = copy
    assert copied.dump() == bandit.dump()


def test_a_log_without_the_features_says_so() -> None:
    bandit, copy, facts = of(SITUATION), of(SITUATION)._record, dict[str, Any]()
    decide(bandit._record, None, 0.0, False, facts, {"country": "DE", "age": 3})
    with pytest.raises(StateError, match="its features are erased"):
        replay_decision(copy, 1, facts["arms"], 0.0)
    replay_decision(copy, 1, facts["arms"], 0.0, pull=facts["pull"])
    assert copy.contexts is not None
    copy.contexts.forget([1])
    with pytest.raises(StateError, match="the features of decision 1 are erased"):
        replay_rewards(copy, "1", {"tea": 1.0}, (), 0.0)


# --- Other declarations -----------------------------------------------------------------------------------------------


def test_columns_that_are_encoded_as_before_are_found_again() -> None:
    other = Features(
        {"new": Flag(), "age": Number(0, 100), "country": Category(["FR", "IT", "DE"])},
        arms={"price": Number(0, 50), "size": Number(0, 1)},
        crosses=[("country", "price")],
    )
    moved = Contexts(BOTH, []).moved_to(other)
    own, arms = BOTH.columns[:5], BOTH.columns[5:]
    assert [own[at] if at >= 0 else None for at in moved.situation] == [
        "intercept", None, "age", "country=FR", None, "country=DE", None,
    ]  # fmt: skip
    assert [arms[at] if at >= 0 else None for at in moved.arms] == [
        "price", None, "country=FR:price", None, "country=DE:price", None,
    ]  # fmt: skip
    rescaled = Features({"age": Number(0, 120)}, intercept=True)
    assert Contexts(SITUATION, []).moved_to(rescaled).situation.tolist() == [0, -1]


INDEXES = [
    {"kind": "lin_ucb", "model": "disjoint"},
    {"kind": "lin_ucb", "model": "shared"},
    {"kind": "lin_ucb", "model": "hybrid", "radius": 0.5},
    {"kind": "lin_ucb", "model": "shared", "evidence": "pessimistic", "cutoff": 5},
    {"kind": "lin_ts", "model": "disjoint", "evidence": {"kind": "forgetting", "discount": 0.95}},
]
LARGER = Features(
    {"new": Flag(), "country": Category(["IT", "FR", "DE"]), "age": Number(0, 100)},
    arms={"size": Number(0, 1), "price": Number(0, 50)},
    crosses=[("country", "price")],
)


def pair_of(index: Any) -> tuple[Bandit, Bandit]:
    """Two bandits that live alike: of one the columns are declared from the start, of the other later."""
    made = [Bandit(ARMS, {"index": index}, features=one, arm_features=PRICES) for one in (BOTH, LARGER)]
    return made[0], made[1]


def live_alike(one: Bandit, other: Bandit, rounds: int, added: bool) -> list[tuple[Any, Any]]:
    """Situations that have no value in the columns that are new, so that both see the same numbers."""
    rng, told = np.random.default_rng(rounds), []
    for _ in range(rounds):
        situation = {"country": str(rng.choice(["DE", "FR"])), "age": float(rng.random() * 100.0)}
        arms = {"mate": {"price": float(rng.random() * 50.0)}}
        wider = {**situation, "new": False}
        wider_arms = {arm: {"size": 0.0, **arms.get(arm, {})} for arm in ARMS}
        first = one.decide(wider, arms=wider_arms, now=0.0) if added else one.decide(situation, arms=arms, now=0.0)
        told.append((first, other.decide(wider, arms=wider_arms, now=0.0)))
    return told


@pytest.mark.parametrize("index", INDEXES, ids=lambda one: "-".join(map(str, one.values()))[:40])
def test_columns_that_stay_keep_what_was_learned_also_of_rewards_that_wait(index: Any) -> None:
    """A declaration that is widened later is the same as one that was wide from the start, its new columns being 0."""
    one, other = pair_of(index)
    rng, waiting = np.random.default_rng(7), list[Any]()
    for part_of_life, added in ((30, False), (30, True)):
        if added:
            one.change(Redeclare(LARGER, PRICES), now=0.0)
            assert one.version == 1
        waiting += live_alike(one, other, part_of_life, added)
        for _ in range(20):
            first, second = waiting.pop(int(rng.integers(len(waiting))))
            assert first.names == second.names
            reward = {first.names[0]: float(rng.random())}
            one.observe(first.id, reward, now=0.0)
            other.observe(second.id, reward, now=0.0)
    found, wanted = one.dump()["state"], other.dump()["state"]
    assert found == wanted


def test_a_scale_that_is_another_begins_anew_and_the_rest_stays() -> None:
    bandit = of(SITUATION)
    decision = bandit.decide({"country": "FR", "age": 50})
    bandit.observe(decision.id, {"tea": 1.0})
    waits = bandit.decide({"country": "FR", "age": 50})
    with pytest.raises(EvenhandError, match=r"define RewardedFeatures.recolumn"):
        bandit.change(Redeclare(Features({"age": Number(0, 200)})))
    assert bandit.version == 0
    bandit = Bandit(ARMS, {"index": {"kind": "lin_ucb"}}, features=SITUATION)
    for _ in range(2):
        waits = bandit.decide({"country": "FR", "age": 50}, available=["tea"])
    bandit.observe("1", {"tea": 1.0})
    bandit.change(Redeclare({"situation": {"age": {"kind": "number", "low": 0, "high": 200}}}, reason="older people"))
    assert bandit.audit().changes_made[0].text == "other features were declared"
    assert bandit._record.state.index.own[0].tolist() == [[1.0, 0.0], [0.0, 0.0]]
    bandit.observe(waits.id, {"tea": 1.0})
    assert bandit._record.state.index.own_rewards[0].tolist() == [2.0, 0.0]
    again = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    assert again.dump() == bandit.dump()
    assert again.decide({"age": 150}, now=0.0) == bandit.decide({"age": 150}, now=0.0)


def test_another_declaration_is_planned_and_an_equal_one_changes_nothing() -> None:
    bandit = Bandit(ARMS, {"index": {"kind": "lin_ucb"}}, features=BOTH, arm_features=PRICES)
    before = bandit.dump()
    assert bandit.plan(Redeclare(LARGER)).changed
    assert not bandit.plan(Redeclare(BOTH)).changed
    assert bandit.change(Redeclare(BOTH)) == ()
    assert bandit.dump() == before
    bandit.change(Redeclare(BOTH, {"tea": {"price": 5}}))
    assert bandit._record.contexts is not None
    assert bandit._record.contexts.arms == [{"price": 5}, {}, {}]
    with pytest.raises(EvenhandError, match=r"arm_features.tea.size: there is no such feature"):
        bandit.change(Redeclare(BOTH, {"tea": {"size": 5}}))
    with pytest.raises(EvenhandError, match="made without features"):
        Bandit(ARMS, "ucb1").change(Redeclare(BOTH))
    with pytest.raises(EvenhandError, match="shared"):
        Bandit(ARMS, {"index": {"kind": "lin_ucb", "model": "shared"}}, features=BOTH).change(Redeclare(SITUATION))


def test_an_arm_is_added_with_features() -> None:
    bandit = Bandit(ARMS, {"index": {"kind": "lin_ucb", "model": "hybrid"}}, features=BOTH, arm_features=PRICES)
    someone = {"country": "FR", "age": 50}
    bandit.observe(bandit.decide(someone, available=["tea"]).id, {"tea": 1.0})
    with pytest.raises(EvenhandError, match=r"features.price must be a number"):
        bandit.add("cocoa", features={"price": "x"})
    with pytest.raises(EvenhandError, match="features must be left out: this bandit was made without features"):
        Bandit(ARMS, "ucb1").change(AddArm("cocoa", features={"price": 1}))
    bandit.change(AddArm("cocoa", features={"price": 1}))
    decision = bandit.decide(someone, available=["cocoa", "tea"])
    assert Bandit.restored(bandit.dump()).dump() == bandit.dump()
    bandit.observe(decision.id, {decision.names[0]: 1.0})
    bandit.change(Erase("cocoa"))
    assert bandit._record.contexts is not None
    assert bandit._record.contexts.arms[3] == {}


TWO = Features(
    arms={"price": Number(0, 50), "kind": Category(["hot", "cold"], unknown="error"), "stock": Number(0, 9, missing=1)}
)
SHARED = {"index": {"kind": "lin_ucb", "model": "shared"}}
HOT = {"tea": {"price": 2, "kind": "hot"}, "coffee": {"price": 3, "kind": "hot"}}


def test_an_arm_that_lacks_what_all_others_have_is_refused_and_nothing_changes() -> None:
    given = {"tea": {"price": 2, "kind": "hot"}, "coffee": {"price": 3, "kind": "hot"}}
    bandit = Bandit(
        ["tea", "coffee"], {"index": {"kind": "lin_ucb", "model": "shared"}}, features=TWO, arm_features=given
    )
    before = bandit.dump()
    for ask in (bandit.plan, bandit.change):
        with pytest.raises(EvenhandError) as caught:
            ask(AddArm("mate", features={"price": 4}))
        assert str(caught.value) == "features.kind is missing, and every other arm has it: give it with the arm"
    assert bandit.dump() == before
    bandit.decide()
    bandit.change(AddArm("mate", features={"price": 4, "kind": "cold"}))
    bandit.decide(arms={"mate": {"price": 5}})


def test_an_arm_that_is_brought_back_without_its_features_is_refused_with_the_remedy() -> None:
    given = {"tea": {"price": 2, "kind": "hot"}, "coffee": {"price": 3, "kind": "hot"}}
    bandit = Bandit(
        ["tea", "coffee"], {"index": {"kind": "lin_ucb", "model": "shared"}}, features=TWO, arm_features=given
    )
    bandit.add("mate", features=HOT["tea"])
    bandit.change(Erase("mate"))
    name = bandit.names[2]
    with pytest.raises(
        EvenhandError, match=r"features.price is missing.* has it: declare the features of all arms anew"
    ):
        bandit.bring_back(name)
    bandit.change(Redeclare(TWO, {**HOT, name: HOT["tea"]}))
    bandit.bring_back(name)
    bandit.decide()


@pytest.mark.parametrize("odd", ["x", 1, [1], np.arange(3)], ids=str)
def test_features_of_arms_in_a_change_must_be_tables(odd: Any) -> None:
    bandit = Bandit(["tea", "coffee"], SHARED, features=TWO, arm_features=HOT)
    with pytest.raises(EvenhandError, match="features must be a table of features by name"):
        bandit.change(AddArm("mate", features=odd))
    with pytest.raises(EvenhandError, match="arm_features must be a table of features by arm"):
        bandit.change(Redeclare(TWO, odd))


def test_an_arm_may_lack_what_decisions_give_for_others_too() -> None:
    bandit = Bandit(ARMS, {"index": {"kind": "lin_ucb", "model": "shared"}}, features=BOTH, arm_features=PRICES)
    bandit.add("cocoa")
    decision = bandit.decide({"country": "FR", "age": 3}, arms={"mate": {"price": 1}, "cocoa": {"price": 2}})
    assert decision.names[0] in bandit.names


def test_a_new_arm_after_many_rounds_is_tried() -> None:
    bandit = Bandit(ARMS, {"index": {"kind": "lin_ucb", "radius": 1.0}}, features=SITUATION)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        decision = bandit.decide(anybody(rng), now=0.0)
        bandit.observe(decision.id, {decision.names[0]: float(decision.names[0] == "tea")}, now=0.0)
    bandit.add("cocoa")
    assert "cocoa" in {bandit.decide(anybody(rng), now=0.0).names[0] for _ in range(3)}


def test_weights_of_columns_that_stay_stay() -> None:
    """Of an index that draws as many numbers as before only the new columns begin anew."""
    one, other = pair_of({"kind": "logistic_ts", "model": "disjoint"})
    for first, second in live_alike(one, other, 20, False):
        assert first.names == second.names
        for bandit, decision in ((one, first), (other, second)):
            bandit.observe(decision.id, {decision.names[0]: 0.7}, now=0.0)
    one.change(Redeclare(LARGER, PRICES), now=0.0)
    found, wanted = one._record.state.index, other._record.state.index
    assert np.allclose(found.mean, wanted.mean, rtol=0.0, atol=1e-12)
    assert np.allclose(found.precision, wanted.precision, rtol=0.0, atol=1e-12)


def test_propensities_of_drawn_scores_are_not_estimated_but_with_a_floor_they_are_exact() -> None:
    drawn = {"index": {"kind": "lin_ts"}}
    bandit = Bandit(ARMS, drawn, features=SITUATION)
    someone = {"country": "DE", "age": 3}
    assert bandit.decide(someone).arms[0].propensity is None
    with pytest.raises(EvenhandError, match=r"with selection=ExplorationFloor\(floor\) every decision"):
        bandit.decide(someone, propensities=True)
    assert bandit.round == 1
    floor = {**drawn, "selection": {"kind": "exploration_floor", "floor": 0.1}}
    decision = Bandit(ARMS, floor, features=SITUATION).decide(someone, propensities=True)
    assert decision.propensities is not None
    assert sorted(round(one.propensity or 0.0, 9) for one in decision.propensities) == [0.1, 0.1, 0.8]
    assert all(one.stderr == 0.0 for one in decision.propensities)


def test_an_eta_that_follows_the_scores_is_a_fact_of_the_decision() -> None:
    queue = {"kind": "virtual_queue", "fractions": 0.1, "eta": "auto"}
    bandit = Bandit(ARMS, {"index": {"kind": "lin_ucb"}, "fairness": queue}, features=SITUATION)
    rng, spreads = np.random.default_rng(0), list[float]()
    for _ in range(20):
        facts: dict[str, Any] = {}
        decision = decide(bandit._record, None, 0.0, False, facts, anybody(rng))
        mean = float(np.mean(spreads)) if spreads else 0.0
        assert facts["eta"] == pytest.approx(20.0 / mean if mean else 0.0)
        spreads.append(facts["spread"])
        bandit.observe(decision.id, {decision.names[0]: float(rng.random())}, now=0.0)
    assert mean > 0.0


def test_the_audit_says_which_features_are_often_not_as_declared() -> None:
    bandit = of(SITUATION)
    for place in range(40):
        bandit.decide({"country": "DE" if place % 2 else "IT", "age": 130 if place == 0 else 30}, now=0.0)
    (warning,) = [one for one in bandit.audit(now=0.0).warnings if "declare" in one]
    assert warning.startswith("country had a value that is not declared 20 times in 40 rounds")
