"""The tables of the store.

The events are the record; everything else can be rebuilt from them, except the names of the arms and the keys.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

#: An allocation, and its state after its last event: for lists, and as the row that its one writer locks.
allocations = Table(
    "allocations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("algorithm", String(100), nullable=False),
    Column("arms", Integer, nullable=False),  # that are not retired
    Column("created", Double, nullable=False),  # seconds since the epoch, as all times
    Column("sequence", BigInteger, nullable=False),  # of the last event
    Column("chain", String(32), nullable=False),  # of the last event
    Column("round", BigInteger, nullable=False),  # rounds decided
    Column("closed", Boolean, nullable=False),
    Column("due", Double),  # when the next window passes or lease is over; null for never
    Column("named", BigInteger, nullable=False, server_default="0"),  # sum of hashes of names; see `seals.py`
    Column("answered", BigInteger, nullable=False, server_default="0"),  # the same of answers
)

#: What happened, in order; rows are only appended. No foreign key: the writer has locked the allocation's row, and
#: checking row by row takes as long as writing.
events = Table(
    "events",
    metadata,
    Column("allocation", Integer, primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, …
    Column("time", Double, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("round", BigInteger),  # of a decision, reward or total
    Column("version", Integer, nullable=False),  # of the body
    Column("body", Text, nullable=False),  # JSON
    Column("key", String(16)),  # id of the API key that caused it
    Column("chain", String(32), nullable=False),  # hash of this row and of all before it
    Index("events_by_round", "allocation", "round"),
    sqlite_with_rowid=False,
)

#: The names of the arms, of which events and snapshots have the numbers.
arms = Table(
    "arms",
    metadata,
    Column("allocation", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),  # 0, 1, …
    Column("name", Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

#: The bandit after some event, so that a start need not replay all events.
snapshots = Table(
    "snapshots",
    metadata,
    Column("allocation", ForeignKey("allocations.id"), primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("state", LargeBinary, nullable=False),  # compressed JSON
)

#: The health of allocations, for lists; of another version or after another event it is computed anew.
summaries = Table(
    "summaries",
    metadata,
    Column("allocation", Integer, primary_key=True, autoincrement=False),
    Column("chain", String(32), nullable=False),  # of the last event
    Column("evenhand", String(40), nullable=False),  # version of the package that wrote it
    Column("body", Text, nullable=False),  # JSON
)

#: The answers to commands with an idempotency key.
answers = Table(
    "answers",
    metadata,
    Column("allocation", Integer, primary_key=True, autoincrement=False),
    Column("key", String(200), primary_key=True),
    Column("digest", String(64), nullable=False),  # of the command
    Column("time", Double, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Index("answers_by_time", "allocation", "time"),
    sqlite_with_rowid=False,
)

#: Addresses to which events are sent, and how far each is.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("allocation", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),  # as each message is signed with it
    Column("kinds", Text),  # of events, separated by spaces; null for all
    Column("created", Double, nullable=False),
    Column("sequence", BigInteger, nullable=False),  # of the last event that was delivered
    Column("claimed", Double),  # until when a server delivers to it
    Column("tries", Integer, nullable=False),  # without success, since the last success
    Column("failing", Double),  # since when
    Column("next", Double),  # when it is tried again
    Column("error", Text),  # of the last try
    Column("disabled", Double),
)

#: The last tries to deliver to each webhook.
deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("allocation", Integer, nullable=False),
    Column("webhook", String(16), nullable=False),
    Column("sequence", BigInteger, nullable=False),  # of the event
    Column("attempt", Integer, nullable=False),  # 1, 2, …
    Column("sent", Double, nullable=False),
    Column("seconds", Double, nullable=False),  # until the answer or the error
    Column("status", Integer),  # of the answer; null for none
    Column("error", Text),
    Index("deliveries_by_webhook", "webhook", "id"),
)

#: What is yet to be done after a commit; the next process that opens the database does it. See `owe`.
owed = Table(
    "owed",
    metadata,
    Column("work", String(60), primary_key=True),
    Column("since", Double, nullable=False),
)

#: API keys.
keys = Table(
    "keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("scopes", String(100), nullable=False),  # separated by spaces
    Column("allocations", Text),  # names, separated by spaces; null for all
    Column("hash", String(64), nullable=False, unique=True),  # SHA-256 of the secret
    Column("created", Double, nullable=False),
    Column("expires", Double),
    Column("revoked", Double),
)
