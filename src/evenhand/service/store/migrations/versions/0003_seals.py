"""The sums of hashes of names and answers, and the health of each allocation for lists."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from evenhand.service.store import seals

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add them."""
    for sum in ("named", "answered"):
        op.add_column("allocations", sa.Column(sum, sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "summaries",
        sa.Column("allocation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("chain", sa.String(32), nullable=False),
        sa.Column("evenhand", sa.String(40), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    connection = op.get_bind()
    names = connection.execute(sa.text("SELECT id, name FROM allocations")).all()
    if names:
        seals.change(connection, "named", {id: seals.named(connection, id, name) for id, name in names})
        seals.change(connection, "answered", {id: seals.answered(connection, id) for id, _ in names})
