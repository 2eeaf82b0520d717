"""The command ``evenhand``: its commands, and how every error becomes one line and an exit status."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from evenhand.cli import client, keys, leases, sweep
from evenhand.cli.algorithms import algorithms
from evenhand.cli.evaluate import evaluate
from evenhand.cli.figure import figure
from evenhand.cli.glossary import glossary
from evenhand.cli.help import App
from evenhand.cli.output import Interrupted
from evenhand.cli.reproduce import reproduce
from evenhand.cli.serve import serve
from evenhand.cli.simulate import check, simulate
from evenhand.cli.store import db, export, verify
from evenhand.cli.table import table
from evenhand.core.errors import EvenhandError
from evenhand.core.version import __version__

app = App(
    "Simulate, compare and run fair bandit policies with late feedback.",
    name="evenhand",
    add_completion=True,
    pretty_exceptions_enable=False,
)
STUDY, USE, PROVE = "Study policies", "Use a policy", "Evaluate logs and verify events"
#: Set by a shell that asks for completions.
COMPLETING = "_EVENHAND_COMPLETE"

#: Packages that each extra of Evenhand installs.
EXTRAS = {
    "service": (
        "alembic",
        "fastapi",
        "fastapi_offline",
        "httpx",
        "orjson",
        "prometheus_client",
        "sqlalchemy",
        "uvicorn",
    ),
    "postgresql": ("psycopg",),
    "dask": ("dask", "distributed"),
    "ray": ("ray",),
}
#: The error of a wrong command line; Typer exports only those of its kinds.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)


def main() -> None:
    """Run the command line and exit: 0 for success, 2 for an error, 130 for an interrupt."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where the encoding of the terminal has no ± or η
    for name in ("SIGTERM", "SIGHUP"):
        if signal.getsignal(getattr(signal, name, signal.SIGINT)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), _ended)
    if COMPLETING in os.environ:
        app(prog_name="evenhand")
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more as it ends
        status = status or _system_error(error)
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run a command; the exit status. An error is one line on standard error, never a traceback.

    Example:
        >>> run(["--version"])
        evenhand 0.1.0
        0
    """
    try:
        with typer.main.get_command(app).make_context("evenhand", [*arguments]) as context:
            context.command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except UsageError as error:
        return _misused(error)
    except EvenhandError as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        return _fail(f"{error.name} is not installed; pip install 'evenhand[{_extra(error.name)}]'")
    except MemoryError as error:
        return _fail(f"not enough memory: {str(error) or 'the run is too large'}; use fewer lanes or checkpoints")
    except OSError as error:
        return _system_error(error)
    except (Interrupted, KeyboardInterrupt, typer.Abort) as interrupt:
        return _fail(str(interrupt) or "interrupted", _Ended.status)
    return 0


class _Ended(KeyboardInterrupt):
    """Somebody ended the command by a signal."""

    status = 130


def _ended(number: int, frame: object) -> None:
    """End as an interrupt does, so that workers and unfinished files go."""
    _Ended.status = 128 + number
    raise _Ended(f"ended by {signal.Signals(number).name}")


def _misused(error: typer.BadParameter) -> int:
    """A wrong command line; without any arguments the help is the message."""
    message, context = error.format_message(), error.ctx
    if context is None:
        return _fail(message)
    if message == context.get_help():
        print(message, file=sys.stderr)
        return 2
    message = " ".join(message.split()).replace(": Value error, ", ": ").rstrip(".")
    return _fail(f"{message} (see `{context.command_path} --help`)")


def _system_error(error: OSError) -> int:
    """An error of the operating system; none to report where the reader of the output has gone away."""
    if isinstance(error, BrokenPipeError):
        return 141
    reason = error.strerror or str(error)
    # Only standard output is written to without a name.
    full = f"the output cannot be written: {reason}" if error.errno == errno.ENOSPC else reason
    return _fail(f"{error.filename}: {reason}" if error.filename else full)


def _extra(module: str | None) -> str:
    """The extra of Evenhand that installs a module."""
    package = (module or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages:
            return extra
    raise ModuleNotFoundError(name=module)


def _fail(message: str, status: int = 2) -> int:
    for line in message.splitlines():
        print(line if line.startswith("  ") else f"evenhand: {line}", file=sys.stderr)
    return status


def _version(value: bool) -> None:
    if value:
        print(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


app.command(rich_help_panel=STUDY)(algorithms)
app.command(rich_help_panel=STUDY)(check)
app.command(rich_help_panel=STUDY)(simulate)
app.add_typer(sweep.app, name="sweep", rich_help_panel=STUDY)
app.command(rich_help_panel=STUDY)(table)
app.command(rich_help_panel=STUDY)(figure)
app.command(rich_help_panel=STUDY)(reproduce)
app.command(rich_help_panel=STUDY)(glossary)
app.command(rich_help_panel=USE)(serve)
app.add_typer(keys.app, name="keys", rich_help_panel=USE)
client.app.add_typer(leases.app, name="lease")
app.add_typer(client.app, name="client", rich_help_panel=USE)
app.add_typer(db, name="db", rich_help_panel=USE)
app.command(rich_help_panel=PROVE)(evaluate)
app.command(rich_help_panel=PROVE)(export)
app.command(rich_help_panel=PROVE)(verify)

if __name__ == "__main__":
    main()
