"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "allocations",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("algorithm", sa.String(100), nullable=False),
        sa.Column("arms", sa.Integer, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("chain", sa.String(32), nullable=False),
        sa.Column("round", sa.BigInteger, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.Column("due", sa.Double),
    )
    op.create_table(
        "events",
        sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("round", sa.BigInteger),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("key", sa.String(16)),
        sa.Column("chain", sa.String(32), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("events_by_round", "events", ["allocation", "round"])
    op.create_table(
        "arms",
        sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshots",
        sa.Column("allocation", sa.Integer, sa.ForeignKey("allocations.id"), primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "answers",
        sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("answers_by_time", "answers", ["allocation", "time"])
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("allocation", sa.Integer, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("kinds", sa.Text),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("claimed", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("failing", sa.Double),
        sa.Column("next", sa.Double),
        sa.Column("error", sa.Text),
        sa.Column("disabled", sa.Double),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("scopes", sa.String(100), nullable=False),
        sa.Column("allocations", sa.Text),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double),
        sa.Column("revoked", sa.Double),
    )
