"""How signals end a command: with a line and an exit status, never with a traceback."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # without loading `typing`; see `start.py`
if TYPE_CHECKING:
    from types import FrameType

INTERRUPT = 2  # SIGINT
IMPORTS = "<frozen importlib"  # the beginning of the files of frames that load a module


class Ended(KeyboardInterrupt):
    """Somebody ended the command by a signal."""

    status = 130


def ended(number: int, frame: FrameType | None) -> None:
    """End as an interrupt does, so that workers and unfinished files go; while a module is loaded, end at once."""
    message = "interrupted"
    if number != INTERRUPT:
        import signal

        message = f"ended by {signal.Signals(number).name}"
    Ended.status = 128 + number
    while frame is not None and not frame.f_code.co_filename.startswith(IMPORTS):
        frame = frame.f_back
    if frame is not None:
        leave(message)
    raise Ended(message)


def leave(message: str) -> None:
    """End the process at once."""
    os.write(2, f"evenhand: {message or 'interrupted'}\n".encode())
    os._exit(Ended.status)
