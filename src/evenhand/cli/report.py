"""``evenhand report``: writes a report on an allocation or a log, to be handed on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from evenhand.cli import options
from evenhand.cli.output import note
from evenhand.cli.requests import LOCAL, Timeout, Url, Wait, connected
from evenhand.cli.store import existing
from evenhand.core.files import write_page

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.log import Log


def report(
    # name of an allocation of a running service or, with --database, of a database; the .json file of a bandit that
    # `Bandit.save` wrote; or a .csv or .parquet log of decisions
    source: Annotated[str, Argument(metavar="ALLOCATION|LOG")],
    out: Annotated[Path, Option(metavar="FILE")] = Path("report.html"),  # HTML file to write
    database: str | None = None,  # SQLite file, or a URL such as postgresql://user@host/name; only read
    shares: options.Targets = None,
    promise: options.Promises = None,
    column: options.Columns = None,
    missing: options.Missing = None,
    window: options.Window = None,
    rewards: options.LogRewards = None,
    unit: options.Unit = None,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    wait: Wait = False,
    own: options.Import = None,
) -> None:
    """Write a report on an allocation or a log to hand on: one HTML page that loads nothing and prints well.

    Of an allocation it says what was promised and kept, what that costs, how sure this is, which rewards are late or
    missing, what was changed, with which key and why, and how to verify it. Of a log: what promises would cost, what
    fixed shares would have earned, and what this rests on.

    Examples:
        evenhand report drinks --out report.html
        evenhand report drinks --database evenhand.db
        evenhand report bandit.json
        evenhand report sales.csv --shares uniform --promise 0.05,0.1
    """
    reading: dict[str, Any] = {"column": column, "missing": missing, "window": window, "rewards": rewards, "unit": unit}
    if Path(source).suffix in options.LOGS:
        options.refuse({"database": database, "wait": wait or None}, "an allocation", "a log")
        with options.logs_read([Path(source)], features=None, **reading) as (log,):
            write_page(out, _of_log(log, Path(source).name, shares, promise))
        note(f"wrote {out}")
        return
    options.refuse({"shares": shares, "promise": promise, **reading}, "a log", "an allocation")
    if database is not None:
        from evenhand.service.store.reading import stored_report

        with existing(database) as opened:
            write_page(out, stored_report(opened, source, time.time()))
    elif source.endswith(".json"):
        from evenhand.bandit import Bandit

        Bandit.load(source).save_report(out)
    else:
        with connected(url, timeout, wait, source) as client:
            client.save_report(source, out)
    note(f"wrote {out}")


def _of_log(log: Log, name: str, shares: list[str] | None, promise: str | None) -> str:
    from evenhand.bandit.evaluation.evaluation import evaluate
    from evenhand.bandit.evaluation.price import PROMISES, price
    from evenhand.bandit.evaluation.report import report
    from evenhand.cli.evaluate import targets_of
    from evenhand.cli.price import promised

    if not log.has_propensities:
        options.refuse({"shares": shares}, "a log with propensities", "one without")
    found = evaluate(log, targets_of(shares or ["uniform"], None, [])) if log.has_propensities else None
    return report(name, found, price(log, promised(promise) or PROMISES))
