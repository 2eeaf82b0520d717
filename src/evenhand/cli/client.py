"""``evenhand client …``: sends requests to a running service."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from evenhand.cli.help import App
from evenhand.cli.options import AsJson, Name, Settings, algorithm_names, numbers, parameters, policy, table
from evenhand.cli.output import note, print_json
from evenhand.core.errors import ConfigurationError, EvenhandError, nearest

if TYPE_CHECKING:
    from evenhand.client import Client, ServiceError
    from evenhand.messages.answers import ChangeResult, Preview

app = App(
    "Send requests to a running service: decide, reward, audit, change.\n\n"
    "EVENHAND_URL holds its address, and EVENHAND_KEY your API key if the service requires one.",
)
changes = App("Change the arms or the promises of an allocation, or close it.")
app.add_typer(changes, name="change")
webhooks = App("Send the events of an allocation to webhook URLs, signed.")
app.add_typer(webhooks, name="webhook")

Url = Annotated[
    str,
    typer.Option(
        envvar="EVENHAND_URL",
        metavar="URL",
        help="Address of the service; EVENHAND_KEY holds the API key if it requires one.",
    ),
]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help="Seconds to wait for an answer, including retries.")]
Wait = Annotated[
    bool,
    typer.Option("--wait", help="Retry until --timeout if the service is not running, for example during a restart."),
]
Arm = Annotated[str, typer.Argument(metavar="ARM", help="Name of the arm.")]
IdempotencyKey = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="Idempotency key; a call with the key of an earlier one is not carried out again.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Write nothing; show what each arm would be promised, or what is wrong.")
]
Fraction = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="Share of the rounds promised to the arm. Default: none.")
]


@dataclass
class Answer:
    """What a command prints.

    Attributes:
        json: the value that ``--json`` prints.
        show: prints the same for people.
        status: exit status.
    """

    json: object
    show: Callable[[], object]
    status: int = 0


Request = TypeVar("Request", bound=Callable[..., Answer])


def request(group: typer.Typer, name: str | None = None) -> Callable[[Request], Request]:
    """Make a command of a function that sends requests by a client.

    The first parameter of the function is the client, the others are options of the command. The options for the
    connection and the form of the output, which all these commands have, are added here.
    """

    def add(function: Request) -> Request:
        def command(url: str, timeout: float, wait: bool, as_json: bool, **arguments: Any) -> None:
            with _client(url, timeout, wait, arguments.get("name")) as client:
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
        vars(command)["__signature__"] = Signature(own + common)
        command.__annotations__ = {one.name: one.annotation for one in own + common}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        group.command(name)(command)
        return function

    return add


@request(app)
def create(
    client: Client,
    name: Name,
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM",
            autocompletion=algorithm_names,
            help="Name from `evenhand algorithms`, a table of parts, or a .toml or .json file with such a table.",
        ),
    ],
    arm: Annotated[list[str], typer.Option(metavar="ARM", help="Name of an arm; can be repeated.")],
    missing: Annotated[
        Literal["never", "lost", "zero"],
        typer.Option(
            help="Meaning of a reward that is missing after --window: 'zero' if only successes are reported, 'lost' "
            "if it is unknown. Or 'never' if every reward is reported eventually, including zeros.",
        ),
    ],
    set_: Settings = None,
    plays: Annotated[int, typer.Option(min=1, help="Arms that play per round.")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed. Default: drawn at random.")] = None,
    window: Annotated[
        float | None,
        typer.Option(help="Seconds after a decision in which its rewards are accepted. Default: no limit."),
    ] = None,
    rewards: Annotated[str, typer.Option(metavar="LOW,HIGH", help="Smallest and largest possible reward.")] = "0,1",
    dry_run: DryRun = False,
    start_from: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|COUNTS",
            help="Allocation whose rewards the policy starts from, or counts by arm, such as "
            "'{tea = {plays = 120, sum = 31}}'. They do not count towards promises.",
        ),
    ] = None,
) -> Answer:
    """Create an allocation; succeeds if it already exists with exactly the same settings.

    Examples:

      evenhand client create drinks fucb --arm tea --arm coffee --missing never --set fractions={coffee=0.2}

      evenhand client create ads ucb1 --arm red --arm blue --window 86400 --missing zero

      evenhand client create drinks2 thompson --arm tea --arm mate --missing never --start-from drinks
    """
    options: dict[str, Any] = {
        "parameters": parameters(set_ or []),
        "plays": plays,
        "seed": seed,
        "window": window,
        "missing": missing,
        "rewards": _range(rewards),
        "start_from": _counts(start_from),
    }
    if dry_run:
        return _previewed(client.preview_create(name, arm, policy(algorithm)[0], **options))
    new = client.create(name, arm, policy(algorithm)[0], **options)
    text = f"created allocation {name}" if new else f"allocation {name} already exists with the same settings"
    return Answer({"name": name, "new": new}, lambda: print(text))


def _counts(text: str | None) -> str | dict[str, tuple[int, float]] | None:
    """What an allocation starts from: a name, or counts by arm."""
    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        return {arm: (one["plays"], one["sum"]) for arm, one in table(text, "--start-from").items()}
    except (KeyError, TypeError):
        raise ConfigurationError(
            f"--start-from must be a name, or counts such as '{{tea = {{plays = 120, sum = 31}}}}', got {text!r}"
        ) from None


@request(app, "list")
def list_(
    client: Client, health: Annotated[bool, typer.Option("--health", help="Show what needs attention in each.")] = False
) -> Answer:
    """List the allocations.

    Examples:

      evenhand client list

      evenhand client list --health

      evenhand client list --url http://decisions.example.org --json
    """
    from evenhand.cli.answers import show_allocations

    allocations = client.allocations(health=health)
    return Answer({"allocations": [one.to_json() for one in allocations]}, lambda: show_allocations(allocations))


@request(app)
def show(client: Client, name: Name) -> Answer:
    """Show the settings and the state of an allocation.

    Examples:

      evenhand client show drinks

      evenhand client show drinks --json
    """
    from evenhand.cli.answers import show_description

    description = client.describe(name)
    return Answer(description.to_json(), lambda: show_description(description))


@request(app)
def decide(
    client: Client,
    name: Name,
    count: Annotated[int, typer.Option(min=1, help="Number of rounds to decide.")] = 1,
    available: Annotated[
        list[str] | None, typer.Option(metavar="ARM", help="Arm that is available; can be repeated. Default: all.")
    ] = None,
    propensities: Annotated[
        bool, typer.Option("--propensities", help="Return the propensity of every available arm; may take time.")
    ] = False,
    again: IdempotencyKey = None,
) -> Answer:
    """Decide which arms play in the next round or rounds.

    Examples:

      evenhand client decide drinks

      evenhand client decide drinks --available tea --available mate

      evenhand client decide drinks --count 100 --json
    """
    from evenhand.cli.answers import show_decisions

    decisions = client.decide_many(name, count, available, propensities=propensities, idempotency_key=again)
    return Answer({"decisions": [one.to_json() for one in decisions]}, lambda: show_decisions(decisions))


@request(app)
def decision(
    client: Client, name: Name, id: Annotated[str, typer.Argument(metavar="ID", help="Id of the decision.")]
) -> Answer:
    """Show a decision: the available arms, the arms that played, and their rewards.

    Examples:

      evenhand client decision drinks 17
    """
    from evenhand.cli.answers import show_decision

    answer = client.decision(name, id)
    return Answer(answer.to_json(), lambda: show_decision(answer))


@request(app)
def arms(client: Client, name: Name) -> Answer:
    """List the arms of an allocation with their promises.

    Examples:

      evenhand client arms drinks --json
    """
    from evenhand.cli.answers import show_arms

    found = client.arms(name)
    return Answer({"arms": [arm.to_json() for arm in found]}, lambda: show_arms(found))


@request(app)
def events(
    client: Client,
    name: Name,
    after: Annotated[int, typer.Option(min=0, help="Sequence of the last event that is known.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Largest number of events.")] = 100,
) -> Answer:
    """List the events of an allocation, in order.

    Examples:

      evenhand client events drinks

      evenhand client events drinks --after 100 --limit 20 --json
    """
    from evenhand.cli.answers import show_events

    found = list(islice(client.events(name, after), limit))
    return Answer({"events": [event.to_json() for event in found]}, lambda: show_events(found))


@request(app)
def reward(
    client: Client,
    name: Name,
    decision: Annotated[str, typer.Argument(metavar="DECISION", help="Id of the decision.")],
    rewards: Annotated[list[str], typer.Argument(metavar="ARM=REWARD", help="Reward of each arm.")],
    again: IdempotencyKey = None,
) -> Answer:
    """Send the rewards of a decision; the exit status is 1 if a reward was not accepted.

    Examples:

      evenhand client reward drinks 1 tea=1

      evenhand client reward ads 17 red=0 blue=0.25 --json
    """
    from evenhand.cli.answers import show_rewards

    by_arm = numbers("REWARDS", "ARM=REWARD", "tea=1", rewards)
    results = client.reward(name, decision, by_arm, idempotency_key=again)
    status = 0 if all(one.learned for one in results) else 1
    return Answer({"results": [one.to_json() for one in results]}, lambda: show_rewards(results), status)


@request(app)
def total(
    client: Client,
    name: Name,
    value: Annotated[float, typer.Argument(metavar="VALUE", help="Sum of the rewards.")],
    round: Annotated[int | None, typer.Option(min=1, help="Round of the sum. Default: the last one.")] = None,
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
    limit: Annotated[
        int | None, typer.Option(min=1, help="Largest number of arms, by decreasing deficit. Default: all.")
    ] = None,
) -> Answer:
    """Show what each arm was promised and what it received.

    Examples:

      evenhand client audit drinks

      evenhand client audit drinks --limit 20 --json
    """
    from evenhand.cli.answers import show_audit

    answer = client.audit(name, limit)
    return Answer(answer.to_json(), lambda: show_audit(name, answer))


@request(app)
def log(
    client: Client,
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; ends in .csv or .parquet.")],
    since: Annotated[int, typer.Option(min=1, help="First round.")] = 1,
    until: Annotated[int | None, typer.Option(min=1, help="Last round. Default: the last one decided.")] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate propensities that have no closed form; takes time.")
    ] = False,
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
    algorithm: Annotated[
        str | None, typer.Argument(metavar="ALGORITHM", help="Show the parameters of this algorithm only.")
    ] = None,
) -> Answer:
    """List the algorithms that the service has, or the parameters of one.

    Examples:

      evenhand client algorithms

      evenhand client algorithms fucb
    """
    from evenhand.cli.answers import show_offered, show_parameters

    found = client.algorithms()
    if algorithm is None:
        return Answer({"algorithms": [one.to_json() for one in found]}, lambda: show_offered(found))
    one = next((one for one in found if one.name == algorithm), None)
    if one is None:
        raise EvenhandError(
            f"the service has no algorithm {algorithm!r}{nearest(algorithm, [one.name for one in found])}"
        )
    return Answer(one.to_json(), lambda: show_parameters(one))


# --- changes ----------------------------------------------------------------------------------------------------------


@request(changes)
def add(
    client: Client,
    name: Name,
    arm: Arm,
    fraction: Fraction = None,
    penalty: Annotated[
        float | None, typer.Option(min=0.0, help="Penalty of the arm, if the algorithm has penalties.")
    ] = None,
    weight: Annotated[
        float | None, typer.Option(min=0.0, help="Weight of the arm, if the algorithm has weights.")
    ] = None,
    cap: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Largest share of the arm, if the algorithm has caps.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Guaranteed reward, if the algorithm has rates.")
    ] = None,
    dry_run: DryRun = False,
    again: IdempotencyKey = None,
) -> Answer:
    """Add an arm; its promise counts from the next round.

    Examples:

      evenhand client change add drinks mate --fraction 0.1
    """
    given = {"fraction": fraction, "penalty": penalty, "weight": weight, "cap": cap, "rate": rate}
    if dry_run:
        return _previewed(client.preview_add(name, arm, **given))
    return _changed(client.add(name, arm, **given, idempotency_key=again))


@request(changes)
def retire(client: Client, name: Name, arm: Arm, dry_run: DryRun = False, again: IdempotencyKey = None) -> Answer:
    """Retire an arm: it no longer plays and its promise ends; rewards of earlier plays are still accepted.

    Examples:

      evenhand client change retire drinks cocoa
    """
    if dry_run:
        return _previewed(client.preview_retire(name, arm))
    return _changed(client.retire(name, arm, idempotency_key=again))


@request(changes)
def bring_back(
    client: Client,
    name: Name,
    arm: Arm,
    fraction: Fraction = None,
    dry_run: DryRun = False,
    again: IdempotencyKey = None,
) -> Answer:
    """Bring a retired arm back, with its statistics and a promise that starts now.

    Examples:

      evenhand client change bring-back drinks cocoa --fraction 0.2
    """
    if dry_run:
        return _previewed(client.preview_bring_back(name, arm, fraction=fraction))
    return _changed(client.bring_back(name, arm, fraction=fraction, idempotency_key=again))


@request(changes)
def rename(
    client: Client,
    name: Name,
    arm: Arm,
    new: Annotated[str, typer.Argument(metavar="NEW", help="New name of the arm.")],
    dry_run: DryRun = False,
    again: IdempotencyKey = None,
) -> Answer:
    """Rename an arm, also in earlier decisions; its plays, rewards and promise stay.

    Examples:

      evenhand client change rename drinks tea "green tea"
    """
    if dry_run:
        return _previewed(client.preview_rename(name, arm, new))
    return _changed(client.rename(name, arm, new, idempotency_key=again))


@request(changes)
def erase(client: Client, name: Name, arm: Arm, again: IdempotencyKey = None) -> Answer:
    """Retire an arm and erase its name, such as that of a person; its new name is like erased-3.

    Examples:

      evenhand client change erase people "Ann Smith"
    """
    return _changed(client.erase(name, arm, idempotency_key=again))


@request(changes)
def promise(
    client: Client,
    name: Name,
    fractions: Annotated[list[str] | None, typer.Argument(metavar="ARM=SHARE", help="New share of each arm.")] = None,
    cap: Annotated[list[str] | None, typer.Option(metavar="ARM=SHARE", help="New largest share of an arm.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TABLE", help="New promise of a group, such as {at_least=0.2}.")
    ] = None,
    dry_run: DryRun = False,
    again: IdempotencyKey = None,
) -> Answer:
    """Change the promised shares of arms from now on; arms whose share does not change keep their deficit.

    Examples:

      evenhand client change promise drinks coffee=0.1 mate=0.3

      evenhand client change promise drinks coffee=0.4 --dry-run

      evenhand client change promise drinks --cap coffee=0.5 --group "hot={arms=['tea', 'coffee'], at_least=0.4}"
    """
    by_arm = numbers("FRACTIONS", "ARM=SHARE", "coffee=0.1", fractions) if fractions else None
    caps = numbers("--cap", "ARM=SHARE", "coffee=0.5", cap) if cap else None
    groups = parameters(group, "--group", "NAME=TABLE", "hot={at_least=0.2}") if group else None
    if dry_run:
        return _previewed(client.preview_promise(name, by_arm, caps=caps, groups=groups))
    return _changed(client.promise(name, by_arm, caps=caps, groups=groups, idempotency_key=again))


@request(changes)
def close(client: Client, name: Name, again: IdempotencyKey = None) -> Answer:
    """Close an allocation: it makes no more decisions, but still accepts rewards.

    Examples:

      evenhand client change close drinks
    """
    return _changed(client.close_allocation(name, idempotency_key=again))


@request(changes)
def reopen(client: Client, name: Name, again: IdempotencyKey = None) -> Answer:
    """Reopen a closed allocation.

    Examples:

      evenhand client change reopen drinks
    """
    return _changed(client.reopen_allocation(name, idempotency_key=again))


@request(webhooks, "add")
def add_webhook(
    client: Client,
    name: Name,
    to: Annotated[str, typer.Argument(metavar="ADDRESS", help="To which events are sent by POST.")],
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Of events that are sent; repeatable. Default: all.")
    ] = None,
    after: Annotated[
        int | None, typer.Option(min=0, help="Sequence of the event before the first one. Default: the last one now.")
    ] = None,
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
    from evenhand.cli.answers import show_webhooks

    found = client.webhooks(name)
    return Answer({"webhooks": [one.to_json() for one in found]}, lambda: show_webhooks(found))


@request(webhooks, "remove")
def remove_webhook(
    client: Client, name: Name, id: Annotated[str, typer.Argument(metavar="ID", help="Id of the webhook.")]
) -> Answer:
    """Remove a webhook; no more events are sent to it.

    Examples:

      evenhand client webhook remove drinks 6f1c2d90a1b2c3d4
    """
    hook = client.remove_webhook(name, id)
    return Answer(hook.to_json(), lambda: print(f"removed webhook {hook.id} to {hook.url}"))


def _changed(change: ChangeResult) -> Answer:
    if change.changed:
        text = f"changed: version {change.version}, from round {change.round + 1} on"
    else:
        text = f"nothing changed, version {change.version}"
    return Answer(change.to_json(), lambda: print(text))


def _previewed(preview: Preview) -> Answer:
    from evenhand.cli.answers import show_arms

    def show() -> None:
        print(
            f"nothing was written; from round {preview.round + 1} on:" if preview.changed else "nothing would change:"
        )
        show_arms(preview.arms)

    return Answer(preview.to_json(), show)


# --- the connection ---------------------------------------------------------------------------------------------------


@contextmanager
def _client(url: str, timeout: float, wait: bool, name: str | None = None) -> Iterator[Client]:
    """A client with the API key of the environment; a refusal of the service names the remedy."""
    from evenhand.client import Client, ServiceError

    key = os.environ.get("EVENHAND_KEY") or None

    @cache  # once per command
    def notice() -> None:
        note(f"evenhand: no answer from {url} yet; waiting for up to {timeout:g} s")

    with Client(url, key, timeout=min(timeout, 10.0), patience=timeout, wait=wait, notice=notice) as client:
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


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ConfigurationError(f"--rewards must have the form LOW,HIGH, such as 0,1; got {text!r}") from None
    return low, high
