"""A process that has loaded the service, and forks it whenever it is asked: loading takes seconds, forking does not.

It reads requests, a line of JSON each, and answers each with a line. A mapping (`words` of the command line, the file
for the `log`, Python code to run `first`) starts the command and is answered with the number of its process; such a
number is answered with the exit code of that process, null while it runs. When there are no more requests, as whoever
made them is gone, it ends what still runs.
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

import evenhand.online.service.serving  # noqa: F401
from evenhand import cli


def serve() -> None:
    """Answer requests until there are no more."""
    running = set[int]()
    for line in sys.stdin:
        asked, answer = json.loads(line), None
        if not isinstance(asked, int):
            answer = os.fork() or become(**asked)
            running.add(answer)
        elif os.waitid(os.P_PID, asked, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            answer = os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1])
            running.remove(asked)
        print(json.dumps(answer), flush=True)
    for process in running:
        os.kill(process, signal.SIGKILL)


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
