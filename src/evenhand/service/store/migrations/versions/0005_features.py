"""The features of decisions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add their table."""
    op.create_table(
        "features",
        sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("round", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("salt", sa.String(32), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
