"""The command ``evenhand``: its commands, and how every error becomes one line and an exit status."""

from __future__ import annotations

import errno
import gc
import io
import os
import re
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any, cast

import typer

from evenhand.cli.commands import Commands
from evenhand.cli.help import App
from evenhand.cli.output import Interrupted
from evenhand.cli.signals import Ended, ended
from evenhand.core.errors import EvenhandError
from evenhand.core.extras import EXTRAS, remedy
from evenhand.core.imports import raised_by_own
from evenhand.core.version import __version__

app = App(
    "Simulate, compare and run fair bandit policies with late feedback.",
    group=Commands,
    name="evenhand",
    add_completion=True,
    pretty_exceptions_enable=False,
)
#: Objects that the largest command loads, none of which is garbage: to look among them takes a tenth of its start.
LOADED = 300_000
#: Set by a shell that asks for completions.
COMPLETING = "_EVENHAND_COMPLETE"

#: The error of a wrong command line; Typer exports only those of its kinds.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)


def main() -> None:
    """Run the command line and exit: 0 for success, 2 for an error, 130 for an interrupt."""
    gc.set_threshold(LOADED)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where the encoding of the terminal has no ± or η
    for name in ("SIGTERM", "SIGHUP"):
        if signal.getsignal(getattr(signal, name, signal.SIGINT)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), ended)
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
    """Run a command; the exit status. An error is one line on standard error, never a traceback."""
    try:
        with typer.main.get_command(app).make_context("evenhand", [*arguments]) as context:
            context.command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except UsageError as error:
        return _misused(error)
    except EvenhandError as error:
        return _fail(str(error))
    except MemoryError as error:
        return _fail(f"not enough memory: {str(error) or 'the run is too large'}; use fewer lanes or checkpoints")
    except OSError as error:
        return _system_error(error)
    except (Interrupted, KeyboardInterrupt, typer.Abort) as interrupt:
        return _fail(str(interrupt) or "interrupted", Ended.status)
    except Exception as error:
        package = ((error.name or "") if isinstance(error, ModuleNotFoundError) else "").partition(".")[0]
        message = remedy(package) if package in EXTRAS else raised_by_own(error) or _misfit(error)
        if "embedded null byte" in str(error):  # what Python says of such a path, without it
            message = "the name of a file has a null character in it"
        if message is None:  # a fault of Evenhand
            raise
        return _fail(message)
    return 0


def _misfit(error: Exception) -> str | None:
    """What is said of parts of one's own where there are any, and one of them may have given what does not fit."""
    from evenhand.core.imports import misfit
    from evenhand.core.parts import own_names

    return misfit(error, own_names())


def _misused(error: typer.BadParameter) -> int:
    """A wrong command line; without any arguments the help is the message."""
    message, context = error.format_message(), error.ctx
    if context is None:
        return _fail(message)
    if message == context.get_help():
        print(message, file=sys.stderr)
        return 2
    message = " ".join(message.split()).replace(": Value error, ", ": ").rstrip(".")
    return _fail(f"{message}{_meant(message, context.command.params)} (see `{context.command_path} --help`)")


def _meant(message: str, parameters: Sequence[Any]) -> str:
    """What was meant by an extra argument such as coffee=0.3: the value of an option that takes such pairs."""
    extra = re.search(r"unexpected extra argument\S* \((\S+=[^\s)]+)", message)
    options = [one.opts[0] for one in parameters if "=" in str(getattr(one, "metavar", ""))]
    return f"; did you mean {options[0]} {extra[1]}?" if extra and options else ""


def _system_error(error: OSError) -> int:
    """An error of the operating system; none to report where the reader of the output has gone away."""
    if isinstance(error, BrokenPipeError):
        return 141
    reason = error.strerror or str(error)
    # Only standard output is written to without a name.
    full = f"the output cannot be written: {reason}" if error.errno == errno.ENOSPC else reason
    return _fail(f"{error.filename}: {reason}" if error.filename else full)


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
) -> None: ...


if __name__ == "__main__":
    main()
