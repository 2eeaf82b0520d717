"""Where the command ``evenhand`` starts: from here on every signal ends it with a line, not with a traceback.

It loads nothing before it sees to that, as an interrupt meanwhile would be Python's own: `signal` takes some 5 ms.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

INTERRUPT = 2  # SIGINT
IMPORTS = "<frozen importlib"  # the beginning of the files of frames that load a module


class Ended(KeyboardInterrupt):
    """Somebody ended the command by a signal."""

    status = 130


def main() -> None:
    """Run the command line and exit: 0 for success, 2 for an error, 130 for an interrupt."""
    early: Any = __import__("_signal")
    try:
        if early.getsignal(INTERRUPT) is early.default_int_handler:
            early.signal(INTERRUPT, ended)
        from evenhand.cli.main import main as run

        run()
    except KeyboardInterrupt as interrupt:
        _leave(str(interrupt))


def ended(number: int, frame: FrameType | None) -> None:
    """End as an interrupt does, so that workers and unfinished files go; while a module is loaded, end at once.

    A compiled module would turn an interrupt into another error.
    """
    message = "interrupted"
    if number != INTERRUPT:
        import signal

        message = f"ended by {signal.Signals(number).name}"
    Ended.status = 128 + number
    while frame is not None and not frame.f_code.co_filename.startswith(IMPORTS):
        frame = frame.f_back
    if frame is not None:
        _leave(message)
    raise Ended(message)


def _leave(message: str) -> None:
    os.write(2, f"evenhand: {message or 'interrupted'}\n".encode())
    os._exit(Ended.status)
