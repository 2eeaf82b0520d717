"""The tables of the store.

The events are the record; everything else can be rebuilt from them, except the names of the arms, features and keys.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

#: An allocation, and its state after its last event: for lists, and as the row that its one writer locks.
allocations = sa.Table(
    "allocations",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("algorithm", sa.String(100), nullable=False),
    sa.Column("arms", sa.Integer, nullable=False),  # that are not retired
    sa.Column("created", sa.Double, nullable=False),  # seconds since the epoch, as all times
    sa.Column("sequence", sa.BigInteger, nullable=False),  # of the last event
    sa.Column("chain", sa.String(32), nullable=False),  # of the last event
    sa.Column("round", sa.BigInteger, nullable=False),  # rounds decided
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("due", sa.Double),  # when the next window passes or lease is over; null for never
    sa.Column("named", sa.BigInteger, nullable=False, server_default="0"),  # sum of hashes of names; see `seals.py`
    sa.Column("answered", sa.BigInteger, nullable=False, server_default="0"),  # the same of answers
    # the last event when alarms were looked for
    sa.Column("judged", sa.BigInteger, nullable=False, server_default="0"),
)

#: What happened, in order; rows are only appended. No foreign key: the writer has locked the allocation's row, and
#: checking row by row takes as long as writing.
events = sa.Table(
    "events",
    metadata,
    sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),  # 1, 2, …
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("kind", sa.String(10), nullable=False),
    sa.Column("round", sa.BigInteger),  # of a decision, reward or total
    sa.Column("version", sa.Integer, nullable=False),  # of the body
    sa.Column("body", sa.Text, nullable=False),  # JSON
    sa.Column("key", sa.String(16)),  # id of the API key that caused it
    sa.Column("chain", sa.String(32), nullable=False),  # hash of this row and of all before it
    sa.Index("events_by_round", "allocation", "round"),
    sqlite_with_rowid=False,
)

#: The names of the arms, of which events and snapshots have the numbers.
arms = sa.Table(
    "arms",
    metadata,
    sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),  # 0, 1, …
    sa.Column("name", sa.Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

#: The features of decisions, which may be personal: events have a hash of each, with a salt that is erased with it.
features = sa.Table(
    "features",
    metadata,
    sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("round", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("salt", sa.String(32), nullable=False),  # hexadecimal
    sa.Column("body", sa.Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

#: The bandit after some event, so that a start need not replay all events.
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("allocation", sa.ForeignKey("allocations.id"), primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("state", sa.LargeBinary, nullable=False),  # compressed JSON
)

#: The health of allocations, for lists; of another version or after another event it is computed anew.
summaries = sa.Table(
    "summaries",
    metadata,
    sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("chain", sa.String(32), nullable=False),  # of the last event
    sa.Column("evenhand", sa.String(40), nullable=False),  # version of the package that wrote it
    sa.Column("body", sa.Text, nullable=False),  # JSON
)

#: The answers to commands with an idempotency key.
answers = sa.Table(
    "answers",
    metadata,
    sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.String(200), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),  # of the command
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("body", sa.Text, nullable=False),  # JSON
    sa.Index("answers_by_time", "allocation", "time"),
    sqlite_with_rowid=False,
)

#: Addresses to which events are sent, and how far each is.
webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("allocation", sa.Integer, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("secret", sa.Text, nullable=False),  # as each message is signed with it
    sa.Column("kinds", sa.Text),  # of events, separated by spaces; null for all
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),  # of the last event that was delivered
    sa.Column("claimed", sa.Double),  # until when a server delivers to it
    sa.Column("tries", sa.Integer, nullable=False),  # without success, since the last success
    sa.Column("failing", sa.Double),  # since when
    sa.Column("next", sa.Double),  # when it is tried again
    sa.Column("error", sa.Text),  # of the last try
    sa.Column("disabled", sa.Double),
)

#: The last tries to deliver to each webhook.
deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("allocation", sa.Integer, nullable=False),
    sa.Column("webhook", sa.String(16), nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),  # of the event
    sa.Column("attempt", sa.Integer, nullable=False),  # 1, 2, …
    sa.Column("sent", sa.Double, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),  # until the answer or the error
    sa.Column("status", sa.Integer),  # of the answer; null for none
    sa.Column("error", sa.Text),
    sa.Index("deliveries_by_webhook", "webhook", "id"),
)

#: Those that have rows of allocations, by their ids.
OF_ALLOCATION = (arms, events, features, snapshots, summaries, answers, webhooks, deliveries)

#: What is yet to be done after a commit; the next process that opens the database does it. See `owe`.
owed = sa.Table(
    "owed", metadata, sa.Column("work", sa.String(60), primary_key=True), sa.Column("since", sa.Double, nullable=False)
)

#: API keys.
keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("scopes", sa.String(100), nullable=False),  # separated by spaces
    sa.Column("allocations", sa.Text),  # names, separated by spaces; null for all
    sa.Column("hash", sa.String(64), nullable=False, unique=True),  # SHA-256 of the secret
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double),
    sa.Column("revoked", sa.Double),
)
