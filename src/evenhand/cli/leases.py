"""``evenhand client lease …``: takes rounds of a service to decide them here, reports them, returns the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from evenhand.cli.help import App
from evenhand.cli.options import Available, Name, numbers
from evenhand.cli.requests import Answer, IdempotencyKey, records, request
from evenhand.core.errors import ConfigurationError

if TYPE_CHECKING:
    from evenhand.client import Client

app = App("Lease the next rounds of an allocation, to decide them near the caller; report what was played.")

Id = Annotated[str, Argument(metavar="ID", help="Id of the lease.")]
FORM, EXAMPLE = "POSITION:ARM=REWARD", "0:tea=1"


@request(app)
def ask(
    client: Client,
    name: Name,
    decisions: Annotated[int, Argument(min=1)],  # number of rounds
    seconds: Annotated[float, Option(metavar="SECONDS")] = 60.0,  # time in which they may be played; at most a day
    available: Available = None,
    units: bool = False,  # let the arms of a decision follow from a unit, such as the id of a user
    draw: bool = False,  # draw all decisions, and list them; not with --units
    again: IdempotencyKey = None,
) -> Answer:
    """Take the next rounds: shows how often each arm plays in them, and until when to play and to report them.

    Examples:
        evenhand client lease ask drinks 1000 --seconds 300
        evenhand client lease ask drinks 10 --draw --json
    """
    from evenhand.cli.answers import show_lease

    if draw and units:
        raise ConfigurationError("--draw lists decisions in their order; with --units they follow from units: leave it")
    leased = client.lease(name, decisions, seconds=seconds, available=available, units=units, idempotency_key=again)
    drawn = leased.draw_many(decisions) if draw else []
    listed = [{"id": one.id, "position": one.position, "arms": list(one.names)} for one in drawn]
    return Answer(leased.lease.to_json() | ({"drawn": listed} if draw else {}), lambda: show_lease(leased.lease, drawn))


@request(app)
def report(
    client: Client,
    name: Name,
    id: Id,
    played: Annotated[int, Argument(min=0)],  # decisions played so far: the first ones
    # reward of an arm in the decision at a position from 0 on; can be repeated
    reward: Annotated[list[str] | None, Option(metavar=FORM)] = None,
    # of a new decision, in a lease for units; can be repeated
    column: Annotated[list[int] | None, Option(metavar="COLUMN", min=0)] = None,
    finished: bool = False,  # return the decisions that were not played
) -> Answer:
    """Report which decisions of a lease were played, with rewards; the same report twice counts once.

    Examples:
        evenhand client lease report drinks 1 600
        evenhand client lease report drinks 1 1000 --reward 0:tea=1 --reward 17:coffee=0.5 --finished
    """
    rewards = _by_arm(reward or [])
    answer = client.report_by_id(name, id, played, rewards=rewards, columns=column, finished=finished)
    return records(answer, "report")


@request(app, "return")
def return_(client: Client, name: Name, id: Id) -> Answer:
    """Return the decisions of a lease that were not reported: they no longer count as played or promised.

    Examples:
        evenhand client lease return drinks 1
    """
    return records(client.report_by_id(name, id, 0, finished=True), "report")


def _by_arm(rewards: list[str]) -> dict[str, dict[int, float]]:
    """Rewards by arm and position."""
    by_arm: dict[str, dict[int, float]] = {}
    for text, value in numbers("--reward", FORM, EXAMPLE, rewards).items():
        position, colon, arm = text.partition(":")
        if not (position.isdecimal() and colon and arm):
            raise ConfigurationError(f"--reward must have the form {FORM}, such as {EXAMPLE}; got {text!r}")
        by_arm.setdefault(arm, {})[int(position)] = value
    return by_arm
