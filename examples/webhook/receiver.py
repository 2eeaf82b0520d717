"""Receives webhooks: verifies every event, keeps it once in a SQLite database, and answers at once.

EVENHAND_WEBHOOK_SECRET=whsec_… python receiver.py
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

from evenhand.client import InvalidSignature, verify_webhook

LARGEST = 1_000_000  # bytes of a message


def receiver(secret: str, database: str, port: int = 9000) -> HTTPServer:
    """A server that keeps the events which the service sends to it; `serve_forever` runs it."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, allocation TEXT, event TEXT)")

    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # seconds for a request

        def do_POST(self) -> None:
            self.send_response(self.status())
            self.send_header("Content-Length", "0")
            self.end_headers()

        def status(self) -> int:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal():
                return 411
            if int(length) > LARGEST:
                return 413
            body = self.rfile.read(int(length))  # as it was sent: a body that was parsed has no signature
            try:
                message = verify_webhook(secret, dict(self.headers.items()), body)
            except InvalidSignature:
                return 400
            event = message["data"]
            row = (self.headers["webhook-id"], event["allocation"], json.dumps(event))
            with closing(sqlite3.connect(database)) as connection, connection:
                connection.execute("INSERT OR IGNORE INTO events VALUES (?, ?, ?)", row)  # sent again: kept already
            return 204  # only now: what is not stored is sent again

    return HTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    with receiver(os.environ["EVENHAND_WEBHOOK_SECRET"], "events.db") as server:
        server.serve_forever()
