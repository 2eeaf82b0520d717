"""The times of deliveries, and what is owed to the file after a commit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("allocation", sa.Integer, nullable=False),
        sa.Column("webhook", sa.String(16), nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("sent", sa.Double, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("error", sa.Text),
    )
    op.create_index("deliveries_by_webhook", "deliveries", ["webhook", "id"])
    op.create_table(
        "owed",
        sa.Column("work", sa.String(60), primary_key=True),
        sa.Column("since", sa.Double, nullable=False),
    )
