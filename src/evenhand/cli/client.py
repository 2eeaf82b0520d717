"""``evenhand client …``: sends requests to a running service."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache, update_wrapper
from inspect import Parameter, Signature, signature
from itertools import islice
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import typer
from typer import Argument, Option

from evenhand.cli.help import App, Group
from evenhand.cli.options import (
    AsJson,
    Available,
    LogFile,
    Name,
    Rewards,
    Segments,
    Settings,
    algorithm_names,
    in_place_of_arguments,
    numbers,
    parameters,
    policy,
    reward_range,
    segments_of,
    table,
)
from evenhand.cli.output import note, print_json
from evenhand.core.descriptions import texts
from evenhand.core.errors import ConfigurationError, EvenhandError, nearest
from evenhand.messages.changes import CHANGES, ChangeRecord, summary
from evenhand.messages.requests import Round

if TYPE_CHECKING:
    from evenhand.client import Client, ServiceError
    from evenhand.messages.answers import Plan

app = App(
    "Send requests to a running service: decide, reward, audit, change.\n\n"
    "EVENHAND_URL holds its address, and EVENHAND_KEY your API key if the service requires one."
)


class Changes(Group):
    """The commands that make changes, each from its record; made when one of them is asked for, as that takes long."""

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """The commands by name."""
        return _commands()

    @commands.setter
    def commands(self, found: MutableMapping[str, Any]) -> None:
        """Typer finds none."""


app.add_typer(App("Change the arms or the promises of an allocation, or close it.", Changes), name="change")
webhooks = App("Send the events of an allocation to webhook URLs, signed.")
app.add_typer(webhooks, name="webhook")

Url = Annotated[
    str,
    Option(
        envvar="EVENHAND_URL",
        metavar="URL",
        help="Address of the service; EVENHAND_KEY holds the API key if it requires one.",
    ),
]
Timeout = Annotated[float, Option(metavar="SECONDS", help="Seconds to wait for an answer, including retries.")]
Wait = Annotated[
    bool, Option("--wait", help="Retry until --timeout if the service is not running, for example during a restart.")
]
IdempotencyKey = Annotated[
    str | None,
    Option(
        "--idempotency-key",
        metavar="KEY",
        help="Idempotency key; a call with the key of an earlier one is not carried out again.",
    ),
]
Version = Annotated[
    int | None, Option(min=0, help="Version that the allocation must have, so that no other change came between.")
]
DryRun = Annotated[
    bool, Option("--dry-run", help="Write nothing; show what each arm would be promised, or what is wrong.")
]
ArmFeatures = Annotated[
    str | None,
    Option(metavar="TABLE", help="Values of features of arms, by arm and name, such as '{tea={price=2.5}}'."),
]


@dataclass
class Answer:
    """What a command prints."""

    json: object  # the value that ``--json`` prints
    show: Callable[[], object]  # prints the same for people
    status: int = 0  # exit status


def records(found: Any, show: str, under: str = "", status: int = 0) -> Answer:
    """A record, or several under a name in JSON; for people as ``show_…`` of `evenhand.cli.answers` prints them."""

    def printed() -> None:
        from evenhand.cli import answers

        getattr(answers, f"show_{show}")(found)

    return Answer({under: [one.to_json() for one in found]} if under else found.to_json(), printed, status)


Request = TypeVar("Request", bound=Callable[..., Answer])


def request(group: typer.Typer, name: str | None = None) -> Callable[[Request], Request]:
    """Make a command of a function that sends requests by a client.

    The first parameter of the function is the client, the others are options of the command. The options for the
    connection and the form of the output, which all these commands have, are added here.
    """

    def add(function: Request) -> Request:
        def command(url: str, timeout: float, wait: bool, as_json: bool, **arguments: Any) -> None:
            with connected(url, timeout, wait, arguments.get("name")) as client:
                answer = function(client, **arguments)
            if as_json:
                print_json(answer.json)
            else:
                answer.show()
            raise typer.Exit(answer.status)

        hints = get_type_hints(function, localns={"Client": object}, include_extras=True)
        own = [one.replace(annotation=hints[one.name]) for one in signature(function).parameters.values()][1:]
        common = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, default, annotation in (
                ("url", "http://127.0.0.1:8000", Url),
                ("timeout", 30.0, Timeout),
                ("wait", False, Wait),
                ("as_json", False, AsJson),
            )
        ]
        # Typer reads the options of a command from its signature and annotations.
        update_wrapper(command, function)
        vars(command)["__signature__"] = Signature(own + common)
        command.__annotations__ = {one.name: one.annotation for one in own + common}
        group.command(name)(command)
        return function

    return add


@request(app)
def create(
    client: Client,
    name: Name,
    # name from `evenhand algorithms`, a table of parts, or a .toml or .json file with such a table
    algorithm: Annotated[str, Argument(autocompletion=algorithm_names)],
    arm: Annotated[list[str], Option()],  # name of an arm; can be repeated
    # Meaning of a reward that is missing after --window: 'zero' if only successes are reported, 'lost' if it is
    # unknown. Or 'never' if every reward is reported eventually, including zeros
    missing: Annotated[Literal["never", "lost", "zero"], Option()],
    set_: Settings = None,
    plays: Annotated[int, Option(min=1)] = 1,  # arms that play per round
    seed: Annotated[int | None, Option(min=0)] = None,  # Random seed. Default: drawn at random
    window: float | None = None,  # Seconds after a decision in which its rewards are accepted. Default: no limit
    rewards: Rewards = "0,1",
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
    segments: Segments = None,
) -> Answer:
    """Create an allocation; succeeds if it already exists with exactly the same settings.

    Examples:
        evenhand client create drinks fucb --arm tea --arm coffee --missing never --set fractions={coffee=0.2}
        evenhand client create ads ucb1 --arm red --arm blue --window 86400 --missing zero
        evenhand client create drinks2 thompson --arm tea --arm mate --missing never --start-from drinks
        evenhand client create shop lin_ucb --arm tea --arm mate --missing never --features '{situation={new="flag"}}'
    """
    options: dict[str, Any] = {
        "parameters": parameters(set_ or []),
        "plays": plays,
        "seed": seed,
        "window": window,
        "missing": missing,
        "rewards": reward_range(rewards),
        "start_from": _counts(start_from, missing),
        "words": {"unit": unit, "round_name": round_name, "arm_name": arm_name},
        "features": _value_of("features", features),
        "arm_features": _value_of("arm_features", arm_features),
        "segments": segments_of(segments),
    }
    new = client.create(name, arm, policy(algorithm)[0], **options, dry_run=dry_run)
    if not isinstance(new, bool):
        return _planned(new)
    text = f"created allocation {name}" if new else f"allocation {name} already exists with the same settings"
    return Answer({"name": name, "new": new}, lambda: print(text))


def _counts(text: str | None, missing: str) -> str | dict[str, tuple[int, float]] | None:
    """What an allocation starts from: a name, or counts by arm, also from a log."""
    if text is not None and text.endswith((".csv", ".parquet")):
        from evenhand.bandit.evaluation.learning import counts_of, log_for

        with in_place_of_arguments():
            return counts_of(log_for(text, missing))
    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        return {arm: (one["plays"], one["sum"]) for arm, one in table(text, "--start-from").items()}
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
    known = _value_of("features", features), _value_of("arm_features", arm_features), available
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
    by_arm = numbers("REWARDS", "ARM=REWARD", "tea=1", rewards)
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
    file: LogFile,
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


# --- changes ----------------------------------------------------------------------------------------------------------


EXAMPLES = {  # of each change, after the name of the command
    "add": ["drinks mate --fraction 0.1"],
    "retire": ['drinks cocoa --reason "out of stock"'],
    "bring_back": ["drinks cocoa --fraction 0.2"],
    "rename": ['drinks tea "green tea"'],
    "erase": ['people "Ann Smith"'],
    "promise": [
        "drinks --fraction coffee=0.1 --fraction mate=0.3",
        "drinks --fraction coffee=0.4 --cap coffee=0.5 --dry-run",
        "drinks --group \"hot={arms=['tea', 'coffee'], at_least=0.4}\"",
    ],
    "redeclare": ["drinks \"{situation={age={kind='number', low=0, high=120}}}\""],
    "reword": ["films --unit € --round-name visitors --arm-name films"],
    "close": ["drinks"],
    "reopen": ["drinks"],
}
TABLES = ("features", "arm_features")  # fields that are tables, written as in a configuration


def _field(one: Field[Any], hint: Any) -> Parameter:
    """The argument or option for a field of a change, by its type and its limits."""
    limits: dict[str, Any] = {}
    while get_origin(hint) in (Annotated, Union, UnionType):
        for limit in getattr(hint, "__metadata__", ()):
            limits |= {name: getattr(limit, key) for name, key in (("min", "ge"), ("max", "le")) if hasattr(limit, key)}
        hint = get_args(hint)[0]
    if one.name in TABLES:
        hint = str
    if one.default is MISSING:
        argument = Annotated[hint, Argument(metavar=one.name.upper())]
        return Parameter(f"field_{one.name}", Parameter.KEYWORD_ONLY, annotation=argument)
    option, default = one.name, one.default
    if one.name in TABLES:
        limits, hint, default = {"metavar": "TABLE"}, str | None, None
    elif get_origin(hint) is Mapping:
        option, default = option.removesuffix("s"), None
        limits, hint = {"metavar": "NAME=TABLE" if one.name == "groups" else "ARM=SHARE"}, list[str] | None
    elif hint is str or isinstance(default, str):
        limits = {"metavar": "NAME" if option in ("debt", "segment") else option.upper()} | limits
        hint = hint if isinstance(default, str) else hint | None
    elif default is None:
        hint = hint | None
    annotation = Annotated[hint, Option(f"--{option.replace('_', '-')}", **limits)]
    return Parameter(f"field_{one.name}", Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _value_of(field: str, given: Any) -> Any:
    """The value of a field of a change, of what was given on the command line."""
    if field in TABLES and given is not None:
        return table(given, field.replace("_", " "), "features, such as { price = 9.9 }")
    if field == "groups" and given is not None:
        tables = parameters(given, "--group", "NAME=TABLE", "hot={at_least=0.2}")
        return {label: None if table == "null" else table for label, table in tables.items()} or None
    if isinstance(given, list):
        return numbers(f"--{field.removesuffix('s')}", "ARM=SHARE", "coffee=0.1", given) or None
    return given


@cache
def _commands() -> dict[str, Any]:
    """The commands that make changes, by name."""
    group = App("")
    for name, record in CHANGES.items():
        _command(group, name, record)
    return dict(vars(typer.main.get_command(group))["commands"])


def _command(group: App, name: str, record: type[ChangeRecord]) -> None:
    """Add the command that makes a change to a group."""

    def command(
        client: Client, name: str, version: int | None, dry_run: bool, again: str | None, **given: Any
    ) -> Answer:
        values = {key.removeprefix("field_"): value for key, value in given.items()}
        made = record(**{key: _value_of(key, value) for key, value in values.items()})
        if dry_run:
            return _planned(client.plan(name, made, version=version))
        done = client.change(name, made, version=version, idempotency_key=again)
        where = f"version {done.version}, from round {done.round + 1} on"
        text = f"changed: {where}" if done.changed else f"nothing changed, version {done.version}"
        return Answer(done.to_json(), lambda: print(text))

    hints = get_type_hints(record, include_extras=True)
    own = [_field(one, hints[one.name]) for one in fields(record) if one.name != "change"]
    own.sort(key=lambda one: (one.default is not Parameter.empty, one.name == "field_reason"))
    common = {"version": (Version, None), "dry_run": (DryRun, False), "again": (IdempotencyKey, None)}
    last = [Parameter(key, Parameter.KEYWORD_ONLY, default=one, annotation=kind) for key, (kind, one) in common.items()]
    first = [
        Parameter("client", Parameter.KEYWORD_ONLY, annotation=object),
        Parameter("name", Parameter.KEYWORD_ONLY, annotation=Name),
    ]
    vars(command)["meanings"] = lambda: {f"field_{name}": text for name, text in texts(record).items()}
    vars(command)["__signature__"] = Signature([*first, *own, *last])
    command.__annotations__ = {one.name: one.annotation for one in (*first, *own, *last)}
    called = name.replace("_", "-")
    examples = "".join(f"\n    evenhand client change {called} {one}" for one in EXAMPLES.get(name, ()))
    command.__name__, command.__doc__ = name, f"{summary(record)}\n\nExamples:{examples}"
    request(group)(command)


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


def _planned(plan: Plan) -> Answer:
    from evenhand.cli.answers import show_arms

    def show() -> None:
        print(f"nothing was written; from round {plan.round + 1} on:" if plan.changed else "nothing would change:")
        show_arms(plan.arms)
        for line in plan.effect.text if plan.effect else ():
            print(line)

    return Answer(plan.to_json(), show)


# --- the connection ---------------------------------------------------------------------------------------------------


@contextmanager
def connected(url: str, timeout: float, wait: bool, name: str | None = None) -> Iterator[Client]:
    """A client with the API key of the environment; a refusal of the service names the remedy."""
    from evenhand.client import Client, ServiceError

    key = os.environ.get("EVENHAND_KEY") or None

    @cache  # once per command
    def notice() -> None:
        note(f"evenhand: no answer from {url} yet; waiting for up to {timeout:g} s")

    tries = 10_000 if wait else 10  # who waits tries until the time is over
    with Client(
        url, key, timeout=min(timeout, 10.0), retries=tries, patience=timeout, wait=wait, notice=notice
    ) as client:
        try:
            yield client
        except ServiceError as error:
            remedy = _remedy(error, client, key is not None, name)
            if not remedy:
                raise
            raise EvenhandError(f"{error}; {remedy}") from None


def _remedy(error: ServiceError, client: Client, has_key: bool, name: str | None) -> str:
    """What to do about a refusal; empty where its message says all."""
    if error.code in ("unauthenticated", "forbidden"):
        key = "another API key" if has_key else "an API key"
        return f"set EVENHAND_KEY to {key} that allows this; `evenhand keys create` creates one"
    if error.code == "unknown_allocation" and name is not None:
        try:
            known = [one.name for one in client.allocations()]
        except EvenhandError:
            return ""
        near = difflib.get_close_matches(name, known, n=1)
        return f"did you mean {near[0]!r}?" if near else ""
    return ""


def _empty(file: Path) -> bool:
    """Whether a log has no rows."""
    if file.suffix.lower() == ".parquet":
        from pyarrow.parquet import read_metadata

        return int(read_metadata(file).num_rows) == 0
    with file.open(encoding="utf-8") as lines:
        return not (next(lines, "") and next(lines, ""))
