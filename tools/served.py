"""Runs a command beside a new service, which has a key and ends with the command.

    python tools/served.py npm test

The command finds the address of the service in ``EVENHAND_URL`` and a key with all scopes in ``EVENHAND_KEY``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

SCOPES = ("administer", "decide", "reward", "read")


@contextmanager
def service() -> Iterator[dict[str, str]]:
    """A service on a new database; where it is and its key, as variables of the environment."""
    with tempfile.TemporaryDirectory() as folder:
        database = ["--database", f"{folder}/evenhand.db"]
        scopes = [word for scope in SCOPES for word in ("--scope", scope)]
        key = subprocess.run(
            ["evenhand", "keys", "create", "client", *scopes, *database], check=True, capture_output=True, text=True
        ).stdout
        with subprocess.Popen(
            ["evenhand", "serve", "--port", "0", *database], stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stderr is not None
                announced = process.stderr.readline()
                address = re.search(r" at (http://\S+)", announced)
                if address is None:
                    sys.exit(f"the service did not start: {announced}{process.stderr.read()}")
                yield {"EVENHAND_URL": address[1], "EVENHAND_KEY": key.strip()}
            finally:
                process.terminate()


if __name__ == "__main__":
    with service() as variables:
        code = subprocess.run(sys.argv[1:], env=os.environ | variables, check=False).returncode
    sys.exit(code)
