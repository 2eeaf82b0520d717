"""``evenhand export``, ``evenhand verify`` and ``evenhand db``: what is in a database of the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from evenhand.cli.help import App
from evenhand.cli.options import AsJson, Database, Import, Jobs, LogFile, Name
from evenhand.cli.output import note, print_json
from evenhand.core.errors import EvenhandError, StateError, number_of

if TYPE_CHECKING:
    from evenhand.service.store.database import Database as StoreDatabase


def export(
    name: Name,
    file: LogFile,
    database: Database = "evenhand.db",
    estimate: bool = False,  # estimate propensities that have no closed form; replays every event
    # write the features of the decisions, too, which may be personal, and beside the file what they are
    features: bool = False,
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """Write the log of an allocation to a file for `evenhand evaluate`, with one row per play.

    Examples:
        evenhand export drinks drinks.parquet
        evenhand export drinks drinks.csv --database postgresql://evenhand@localhost/evenhand --estimate
    """
    from evenhand.bandit.evaluation.columns import keep, kept_with
    from evenhand.service.store import Describe, Store
    from evenhand.service.store.export import write_log

    with closing(Store.open(database, new=False)) as store:
        rows = write_log(store.database, name, file, estimate, features)
        if features:
            about = store.run(name, Describe())
            said = {"features": about.features, "rewards": about.rewards, "unit": about.words.unit}
            keep(file, kept_with(file).with_(**said))
    if as_json:
        print_json({"rows": rows, "file": str(file)})
    else:
        note(f"wrote {number_of(rows, 'row')} to {file}")


def verify(
    names: Annotated[list[str] | None, Argument(metavar="NAME")] = None,  # Allocations. Default: all
    database: Database = "evenhand.db",
    # file with the states that were verified the last time; begin after these, and write it anew
    onward: Annotated[Path | None, Option(metavar="FILE")] = None,
    checksum: str | None = None,  # checksum that an event must have, as in a report on an allocation
    jobs: Jobs = -1,
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """Replay the events of allocations, and compare the result with the stored state; read-only.

    Examples:
        evenhand verify
        evenhand verify drinks --database evenhand.db --json
        evenhand verify --onward verified.json
        evenhand verify drinks --checksum 5e6b0d7c1f0a4b5f9b3c2d1e0f9a8b7c
    """
    from evenhand.service.store.verify import verify

    with existing(database) as opened:
        found = verify(opened, names or (), jobs=jobs, sources=own or (), onward=onward, checksum=checksum)
    if as_json:
        print_json({"verified": found.events, "since": found.since, "faults": list(found.faults)})
    else:
        for name, events in found.events.items():
            since = "" if found.since[name] == 1 else f" from round {found.since[name]:,} on"
            result = "results" if events == 1 else "result"
            print(f"{name}: {number_of(events, 'event')}{since} {result} in the stored state")
    if found.faults:
        raise StateError("\n".join(found.faults))


db = App("Maintain the database of the service.")


@db.command()
def upgrade(database: Database = "evenhand.db") -> None:
    """Upgrade the tables of a database to this version of Evenhand; make a backup first.

    Examples:
        evenhand db upgrade --database postgresql://evenhand@localhost/evenhand
    """
    from evenhand.service.store.database import HEAD

    with existing(database, read_only=False) as opened:
        before = opened.revision()
        opened.migrate()
        opened.check_version()
    note(f"{opened.name} has version {HEAD}" + (" already" if before == HEAD else f"; it had {before or 'no tables'}"))


@db.command()
def backup(
    file: Path,  # new file for the copy
    database: Database = "evenhand.db",
) -> None:
    """Make a consistent copy of an SQLite database, even while it is in use.

    Examples:
        evenhand db backup evenhand-monday.db
    """
    from evenhand.service.store.repair import backup

    with existing(database) as opened:
        size = backup(opened, file)
    note(f"copied {opened.name} to {file}, {size:,} bytes")


@db.command()
def restore(
    name: Name,
    # New file for the events that are removed. Default: NAME-removed.jsonl
    removed: Annotated[Path, Option(metavar="FILE")] = Path(),
    # Continue from an intact snapshot after the damage, or go back to the last valid event. Default: back, if there is
    # no such snapshot
    from_snapshot: Annotated[bool | None, Option("--from-snapshot/--back", show_default=False)] = None,
    database: Database = "evenhand.db",
    own: Import = None,
) -> None:
    """Restore a damaged allocation to its last valid event, or to a later snapshot.

    The damaged events, and those after them or up to the snapshot, are moved to a file.

    Examples:
        evenhand db restore drinks --removed drinks-removed.jsonl
        evenhand db restore drinks --from-snapshot
    """
    from evenhand.service.store.repair import restore

    file = Path(f"{name}-removed.jsonl") if removed == Path() else removed
    with existing(database, read_only=False) as opened:
        found = restore(opened, name, file, from_snapshot)
    note(f"{name} is restored to event {found.last:,}; {found.removed:,} events were moved to {file}")


@db.command()
def compact(
    name: Name,
    # time up to which events are replaced, in UTC, such as 2026-01-31
    before: Annotated[datetime, Option(metavar="TIME", formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])],
    database: Database = "evenhand.db",
    own: Import = None,
) -> None:
    """Replace the events of an allocation before a given time by one event with the resulting state.

    The state includes pending decisions. The events are deleted: back up the database or export the log first.

    Examples:
        evenhand db compact drinks --before 2026-01-01
    """
    from evenhand.service.store.compaction import compact

    with existing(database, read_only=False) as opened:
        found = compact(opened, name, before.replace(tzinfo=UTC).timestamp())
    were = "was" if found.removed == 1 else "were"
    note(
        f"{number_of(found.removed, 'event')} of {name} {were} replaced by their state; the remaining events begin at "
        f"round {found.since:,}"
    )


@db.command()
def erase(
    name: Name,
    database: Database = "evenhand.db",
    yes: bool = False,  # do not ask
) -> None:
    """Erase an allocation and all its stored data.

    Examples:
        evenhand db erase drinks --yes
    """
    from evenhand.service.store.repair import erase

    if not yes:
        typer.confirm(f"Erase {name} with all its events from {database}?", abort=True)
    with existing(database, read_only=False) as opened:
        events = erase(opened, name)
    note(f"erased {name} with {number_of(events, 'event')}")


@db.command("export")
def export_all(
    name: Name,
    file: Path,  # new file to write, of JSON lines
    database: Database = "evenhand.db",
    features: bool = False,  # write the features of the decisions, too, which may be personal
) -> None:
    """Write the events of an allocation to a file for `evenhand db import`.

    Examples:
        evenhand db export drinks drinks.jsonl
    """
    from evenhand.service.store.repair import export_events

    with existing(database) as opened:
        events, fault = export_events(opened, name, file, features)
    note(
        f"wrote {number_of(events, 'event')} to {file}" + (f", which says that they are damaged: {fault}" * bool(fault))
    )


@db.command("import")
def import_all(
    file: Path,  # file that `evenhand db export` wrote
    name: Name,
    database: Database = "evenhand.db",
    own: Import = None,
) -> None:
    """Create an allocation from the events in a file.

    Examples:
        evenhand db import drinks.jsonl drinks
    """
    from evenhand.service.store.repair import import_events

    with existing(database, read_only=False) as opened:
        events = import_events(opened, file, name)
    note(f"{name} has {events:,} events")


@contextmanager
def existing(name: str, read_only: bool = True) -> Iterator[StoreDatabase]:
    """An existing database."""
    from evenhand.service.store.database import Database

    opened = Database(name, read_only)
    if not opened.exists:
        raise EvenhandError(f"there is no database {opened.name}; `evenhand keys create` creates one")
    with closing(opened):
        yield opened
