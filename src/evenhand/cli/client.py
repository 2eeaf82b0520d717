"""``evenhand client …``: sends requests to a running service."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from evenhand.cli import changes, leases, options
from evenhand.cli.changes import value_of
from evenhand.cli.help import App
from evenhand.cli.options import Available, Name
from evenhand.cli.output import note
from evenhand.cli.requests import Answer, DryRun, IdempotencyKey, planned, records, request
from evenhand.core.errors import ConfigurationError, EvenhandError, nearest
from evenhand.messages.requests import Round

if TYPE_CHECKING:
    from evenhand.client import Client

app = App(
    "Send requests to a running service: decide, reward, audit, change.\n\n"
    "EVENHAND_URL holds its address, and EVENHAND_KEY your API key if the service requires one."
)
webhooks = App("Send the events of an allocation to webhook URLs, signed.")
for name, group in (("change", changes.app), ("webhook", webhooks), ("lease", leases.app)):
    app.add_typer(group, name=name)

ArmFeatures = Annotated[
    str | None,
    Option(metavar="TABLE", help="Values of features of arms, by arm and name, such as '{tea={price=2.5}}'."),
]


@request(app)
def create(
    client: Client,
    name: Name,
    # name from `evenhand algorithms`, a table of parts, or a .toml or .json file with such a table
    algorithm: Annotated[str, Argument(autocompletion=options.algorithm_names)],
    arm: Annotated[list[str], Option()],  # name of an arm; can be repeated
    # Meaning of a reward that is missing after --window: 'zero' if only successes are reported, 'lost' if it is
    # unknown. Or 'never' if every reward is reported eventually, including zeros
    missing: Annotated[Literal["never", "lost", "zero"], Option()],
    set_: options.Settings = None,
    plays: Annotated[int, Option(min=1)] = 1,  # arms that play per round
    seed: Annotated[int | None, Option(min=0)] = None,  # Random seed. Default: drawn at random
    window: float | None = None,  # Seconds after a decision in which its rewards are accepted. Default: no limit
    rewards: options.Rewards = "0,1",
    dry_run: DryRun = False,
    # Allocation whose rewards the policy starts from, a .csv or .parquet log of decisions, or counts by arm, such as
    # '{tea = {plays = 120, sum = 31}}'. They do not count towards promises
    start_from: Annotated[str | None, Option(metavar="NAME|LOG|COUNTS")] = None,
    unit: str = "",  # unit of rewards, such as '€'
    round_name: Annotated[str, Option(metavar="WORD")] = "",  # word for rounds, such as 'visitors' or 'person/people'
    arm_name: Annotated[str, Option(metavar="WORD")] = "",  # word for arms, such as 'films'
    # what is known before a decision: tables `situation` and `arms`, `crosses`
    features: Annotated[str | None, Option(metavar="TABLE")] = None,
    arm_features: ArmFeatures = None,
    segments: options.Segments = None,
) -> Answer:
    """Create an allocation; succeeds if it already exists with exactly the same settings.

    Examples:
        evenhand client create drinks fucb --arm tea --arm coffee --missing never --set fractions={coffee=0.2}
        evenhand client create ads ucb1 --arm red --arm blue --window 86400 --missing zero
        evenhand client create drinks2 thompson --arm tea --arm mate --missing never --start-from drinks
        evenhand client create shop lin_ucb --arm tea --arm mate --missing never --features '{situation={new="flag"}}'
    """
    given: dict[str, Any] = {"plays": plays, "seed": seed, "window": window, "missing": missing, "dry_run": dry_run}
    given |= {"parameters": options.parameters(set_ or []), "rewards": options.reward_range(rewards)}
    given |= {"words": {"unit": unit, "round_name": round_name, "arm_name": arm_name}}
    given |= {"features": value_of("features", features), "arm_features": value_of("arm_features", arm_features)}
    given |= {"segments": options.segments_of(segments), "start_from": _counts(start_from, missing)}
    new = client.create(name, arm, options.policy(algorithm)[0], **given)
    if not isinstance(new, bool):
        return planned(new)
    text = f"created allocation {name}" if new else f"allocation {name} already exists with the same settings"
    return Answer({"name": name, "new": new}, lambda: print(text))


def _counts(text: str | None, missing: str) -> str | dict[str, tuple[int, float]] | None:
    """What an allocation starts from: a name, or counts by arm, also from a log."""
    if text is not None and text.endswith((".csv", ".parquet")):
        from evenhand.bandit.evaluation.learning import counts_of, log_for

        with options.in_place_of_arguments():
            return counts_of(log_for(text, missing))
    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        return {arm: (one["plays"], one["sum"]) for arm, one in options.table(text, "--start-from").items()}
    except (KeyError, TypeError):
        raise ConfigurationError(
            f"--start-from must be a name, a log, or counts such as '{{tea = {{plays = 120, sum = 31}}}}', got {text!r}"
        ) from None


@request(app, "list")
def list_(
    client: Client,
    health: bool = False,  # show what needs attention in each
) -> Answer:
    """List the allocations.

    Examples:
        evenhand client list
        evenhand client list --health
        evenhand client list --url http://decisions.example.org --json
    """
    return records(client.allocations(health=health), "allocations", "allocations")


@request(app)
def show(client: Client, name: Name) -> Answer:
    """Show the settings and the state of an allocation.

    Examples:
        evenhand client show drinks
        evenhand client show drinks --json
    """
    return records(client.describe(name), "description")


@request(app)
def decide(
    client: Client,
    name: Name,
    count: Annotated[int, Option(min=1)] = 1,  # number of rounds to decide
    available: Available = None,
    # features of the situation, such as '{age=33}', in all rounds
    features: Annotated[str | None, Option(metavar="TABLE")] = None,
    arm_features: ArmFeatures = None,
    propensities: bool = False,  # return the propensity of every available arm; may take time
    again: IdempotencyKey = None,
) -> Answer:
    """Decide which arms play in the next round or rounds.

    Examples:
        evenhand client decide drinks
        evenhand client decide drinks --available tea --available mate
        evenhand client decide drinks --count 100 --json
        evenhand client decide shop --features '{age=33}'
    """
    known = value_of("features", features), value_of("arm_features", arm_features), available
    decisions = client.decide_many(name, [Round(*known)] * count, propensities=propensities, idempotency_key=again)
    return records(decisions, "decisions", "decisions")


@request(app)
def decision(
    client: Client,
    name: Name,
    id: str,  # id of the decision
) -> Answer:
    """Show a decision: the available arms, the arms that played, and their rewards.

    Examples:
        evenhand client decision drinks 17
    """
    return records(client.decision(name, id), "decision")


@request(app)
def arms(client: Client, name: Name) -> Answer:
    """List the arms of an allocation with their promises.

    Examples:
        evenhand client arms drinks --json
    """
    return records(client.arms(name), "arms", "arms")


@request(app)
def events(
    client: Client,
    name: Name,
    after: Annotated[int, Option(min=0)] = 0,  # sequence of the last event that is known
    limit: Annotated[int, Option(min=1)] = 100,  # largest number of events
) -> Answer:
    """List the events of an allocation, in order.

    Examples:
        evenhand client events drinks
        evenhand client events drinks --after 100 --limit 20 --json
    """
    return records(list(islice(client.events(name, after), limit)), "events", "events")


@request(app)
def reward(
    client: Client,
    name: Name,
    decision: str,  # id of the decision
    rewards: Annotated[list[str], Argument(metavar="ARM=REWARD")],  # reward of each arm
    again: IdempotencyKey = None,
) -> Answer:
    """Send the rewards of a decision; the exit status is 1 if a reward was not accepted.

    Examples:
        evenhand client reward drinks 1 tea=1
        evenhand client reward ads 17 red=0 blue=0.25 --json
    """
    by_arm = options.numbers("REWARDS", "ARM=REWARD", "tea=1", rewards)
    results = client.reward(name, decision, by_arm, idempotency_key=again)
    return records(results, "rewards", "results", status=0 if all(one.learned for one in results) else 1)


@request(app)
def total(
    client: Client,
    name: Name,
    value: float,  # sum of the rewards
    round: Annotated[int | None, Option(min=1)] = None,  # Round of the sum. Default: the last one
    again: IdempotencyKey = None,
) -> Answer:
    """Send the anonymous sum of rewards that arrived in the last round.

    Examples:
        evenhand client total drinks 3.5
        evenhand client total drinks 3.5 --round 12
    """
    answer = client.total(name, value, round, idempotency_key=again)
    return Answer(answer.to_json(), lambda: print(f"round {answer.round}: {answer.status}"))


@request(app)
def audit(
    client: Client,
    name: Name,
    limit: Annotated[int | None, Option(min=1)] = None,  # Largest number of arms, by decreasing deficit. Default: all
) -> Answer:
    """Show what each arm was promised and what it received.

    Examples:
        evenhand client audit drinks
        evenhand client audit drinks --limit 20 --json
    """
    return records(client.audit(name, limit), "audit")


@request(app)
def stopping(
    client: Client,
    name: Name,
    delta: float = 0.05,  # probability with which the answer may be wrong
    epsilon: float = 0.0,  # by how much another arm may be better, in reward
    # How many best arms are to be known, or 'promises' for those that the best shares under the promises give more than
    # a minimum. Default: as many as play in a round
    best: Annotated[str | None, Option(metavar="COUNT|promises")] = None,
) -> Answer:
    """Show whether one may stop: the arms that can still be the best; the exit status is 1 while one may not.

    Examples:
        evenhand client stopping drinks
        evenhand client stopping drinks --epsilon 0.01
        evenhand client stopping drinks --best promises --json
    """
    answer = client.stopping(name, delta, epsilon, best=best)  # type: ignore[arg-type]  # which the service checks
    return Answer(answer.to_json(), lambda: print(answer), 0 if answer.stop else 1)


@request(app)
def differences(
    client: Client,
    name: Name,
    control: Annotated[str | None, Argument()] = None,  # Compare all others with this one. Default: all pairs
    groups: bool = False,  # compare groups, each the mean of its arms
    month: Annotated[str | None, Option(metavar="YYYY-MM")] = None,  # count the rewards of this month (UTC) only
    # 'lost independently' or 'the window is over', of rewards that are not known. Default: the worst
    assume: Annotated[str | None, Option(metavar="ASSUMPTION")] = None,
    confidence: float = 0.95,  # confidence with which all intervals hold at once
) -> Answer:
    """Show by how much arms earn more than others, and how sure that is, however often one looks.

    Examples:
        evenhand client differences drinks coffee
        evenhand client differences drinks --month 2026-11 --assume "lost independently" --json
    """
    given: Any = {"of": "groups" if groups else "arms", "assume": assume}  # which the service checks
    return records(client.differences(name, control, month=month, confidence=confidence, **given), "differences")


@request(app)
def log(
    client: Client,
    name: Name,
    file: options.LogFile,
    since: Annotated[int, Option(min=1)] = 1,  # first round
    until: Annotated[int | None, Option(min=1)] = None,  # Last round. Default: the last one decided
    estimate: bool = False,  # estimate propensities that have no closed form; takes time
) -> Answer:
    """Download the log of an allocation, one row per play; the file is written completely or not at all.

    Examples:
        evenhand client log drinks drinks.parquet
        evenhand client log drinks drinks.csv --since 1000 --until 2000
    """
    client.log(name, file, since=since, until=until, estimate=estimate)
    if _empty(file):
        note(f"{name} has no decision in these rounds: {file} has no rows")
    size = file.stat().st_size
    return Answer({"file": str(file), "bytes": size}, lambda: print(f"wrote {file}, {size:,} bytes"))


@request(app)
def algorithms(
    client: Client,
    algorithm: Annotated[str | None, Argument()] = None,  # show the parameters of this algorithm only
) -> Answer:
    """List the algorithms that the service has, or the parameters of one.

    Examples:
        evenhand client algorithms
        evenhand client algorithms fucb
    """
    found = client.algorithms()
    if algorithm is None:
        return records(found, "offered", "algorithms")
    one = next((one for one in found if one.name == algorithm), None)
    if one is None:
        raise EvenhandError(
            f"the service has no algorithm {algorithm!r}{nearest(algorithm, [one.name for one in found])}"
        )
    return records(one, "parameters")


@request(webhooks, "add")
def add_webhook(
    client: Client,
    name: Name,
    to: Annotated[str, Argument(metavar="ADDRESS")],  # to which events are sent by POST
    kind: list[str] | None = None,  # Of events that are sent; repeatable. Default: all
    # Sequence of the event before the first one. Default: the last one now
    after: Annotated[int | None, Option(min=0)] = None,
) -> Answer:
    """Register a webhook URL; shows the signing secret once.

    Examples:
        evenhand client webhook add drinks https://example.org/hook --kind reward
    """
    hook = client.add_webhook(name, to, kinds=kind, after=after)
    return Answer(hook.to_json(), lambda: print(f"webhook {hook.id} with the secret {hook.secret}"))


@request(webhooks, "list")
def list_webhooks(client: Client, name: Name) -> Answer:
    """List the webhooks with their positions and errors.

    Examples:
        evenhand client webhook list drinks
    """
    return records(client.webhooks(name), "webhooks", "webhooks")


@request(webhooks, "remove")
def remove_webhook(
    client: Client,
    name: Name,
    id: str,  # id of the webhook
) -> Answer:
    """Remove a webhook; no more events are sent to it.

    Examples:
        evenhand client webhook remove drinks 6f1c2d90a1b2c3d4
    """
    hook = client.remove_webhook(name, id)
    return Answer(hook.to_json(), lambda: print(f"removed webhook {hook.id} to {hook.url}"))


def _empty(file: Path) -> bool:
    """Whether a log has no rows."""
    if file.suffix.lower() == ".parquet":
        from pyarrow.parquet import read_metadata

        return int(read_metadata(file).num_rows) == 0
    with file.open(encoding="utf-8") as lines:
        return not (next(lines, "") and next(lines, ""))
