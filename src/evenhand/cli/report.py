"""``evenhand report``: writes a report on an allocation, to be handed on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.client import Timeout, Url, Wait, connected
from evenhand.cli.options import Import
from evenhand.cli.output import note
from evenhand.cli.store import existing


def report(
    allocation: Annotated[
        str,
        typer.Argument(
            metavar="ALLOCATION",
            help="Name of an allocation of a running service or, with --database, of a database; or the .json file of "
            "a bandit that `Bandit.save` wrote.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="HTML file to write.")] = Path("report.html"),
    database: Annotated[
        str | None,
        typer.Option(
            metavar="DATABASE", help="SQLite file, or a URL such as postgresql://user@host/name; is only read."
        ),
    ] = None,
    url: Url = "http://127.0.0.1:8000",
    timeout: Timeout = 30.0,
    wait: Wait = False,
    own: Import = None,
) -> None:
    """Write a report on an allocation, to be handed on, as one HTML page that loads nothing and can be printed.

    It says what was promised and kept, what that costs, how sure this is, which rewards are late or missing, what was
    changed, with which key and why, and how to verify it.

    Examples:
        evenhand report drinks --out report.html
        evenhand report drinks --database evenhand.db
        evenhand report bandit.json
    """
    if database is not None:
        from evenhand.bandit.audit.report import write
        from evenhand.service.store.reading import stored_report

        with existing(database) as opened:
            write(out, stored_report(opened, allocation, time.time()))
    elif allocation.endswith(".json"):
        from evenhand.bandit import Bandit

        Bandit.load(allocation).save_report(out)
    else:
        with connected(url, timeout, wait, allocation) as client:
            client.save_report(allocation, out)
    note(f"wrote {out}")
