"""Where the command ``evenhand`` starts: it sees to signals before anything else is loaded.

An interrupt before that is Python's own, so that this loads nothing that takes time; `signal` takes 5 ms.
"""

from __future__ import annotations

from evenhand.cli.signals import INTERRUPT, ended, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Run the command line and exit: 0 for success, 2 for an error, 130 for an interrupt."""
    early: Any = __import__("_signal")
    try:
        if early.getsignal(INTERRUPT) is early.default_int_handler:
            early.signal(INTERRUPT, ended)
        from evenhand.cli.main import main as run

        run()
    except KeyboardInterrupt as interrupt:
        leave(str(interrupt))
