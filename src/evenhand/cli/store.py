"""``evenhand export`` and ``evenhand verify``: what is in a database of the service."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import AsJson, Database, Import, Name
from evenhand.cli.output import note, print_json
from evenhand.core.errors import StateError

if TYPE_CHECKING:
    from evenhand.online.store import Store


def export(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; ends in .csv or .parquet.")],
    database: Database = "evenhand.db",
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Estimate propensities that have no closed form; replays every event."),
    ] = False,
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """Write the log of an allocation to a file, one row per play, as `evenhand evaluate` reads it.

    Examples:

      evenhand export drinks drinks.parquet

      evenhand export drinks drinks.csv --database postgresql://evenhand@localhost/evenhand --estimate
    """
    from evenhand.online.store.export import write_log

    with _store(database) as store:
        rows = write_log(store.database, name, file, estimate)
    if as_json:
        print_json({"rows": rows, "file": str(file)})
    else:
        note(f"wrote {rows:,} rows to {file}")


def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Allocations. Default: all.")] = None,
    database: Database = "evenhand.db",
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild allocations from their events alone, and compare them with the stored state.

    Examples:

      evenhand verify

      evenhand verify drinks --database evenhand.db --json
    """
    verified: dict[str, int] = {}
    faults: list[str] = []
    with _store(database) as store:
        for name in names or [one.name for one in store.allocations()]:
            try:
                verified[name] = store.verify(name)
            except StateError as fault:
                faults.append(str(fault))
    if as_json:
        print_json({"verified": verified, "faults": faults})
    else:
        for name, events in verified.items():
            print(f"{name}: {events:,} events, replayed to the same state")
    if faults:
        raise StateError("\n".join(faults))


def _store(database: str) -> closing[Store]:
    """An existing database."""
    from evenhand.online.store import Store

    return closing(Store.open(database, new=False))
