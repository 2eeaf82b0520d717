"""A process that has loaded the service, and forks it whenever it is asked: loading takes seconds, forking does not.

It reads requests, a line of JSON each, and answers each with a line. A mapping (`words` of the command line, the file
for the `log`, Python code to run `first`) starts the command and is answered with the number of its process; such a
number is answered with the exit code of that process, null while it runs. When there are no more requests, because the
caller is gone, it ends what still runs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from typing import Any, NoReturn

import psycopg  # noqa: F401
import sqlalchemy.dialects.postgresql.psycopg
import sqlalchemy.dialects.sqlite  # noqa: F401

import evenhand.service.http.run  # noqa: F401
from evenhand.cli import main as cli


def serve() -> None:
    """Answer requests until there are no more."""
    begun = []
    for line in sys.stdin:
        message = json.loads(line)
        if isinstance(message, int):
            answer = ended(message)
        else:
            answer = os.fork() or become(**message)
            begun.append(answer)
        print(json.dumps(answer), flush=True)
    for process in begun:
        os.kill(process, signal.SIGKILL)


def ended(process: int) -> int | None:
    """The exit code; its number stays taken, so that no signal can go to another one by mistake."""
    status = os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    if status is None:
        return None
    return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status


def become(words: list[str], log: str, first: str) -> NoReturn:
    """Be the command, as if started from a shell."""
    files = (os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    for place, file in enumerate((files[0], files[1], files[1])):
        os.dup2(file, place)
    code: Any = 0
    try:
        exec(first, {})
        sys.argv = ["evenhand", *words]
        cli.main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    serve()
