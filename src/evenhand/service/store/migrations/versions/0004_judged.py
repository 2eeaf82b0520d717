"""The last event of each allocation when alarms were looked for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add it."""
    op.add_column("allocations", sa.Column("judged", sa.BigInteger, nullable=False, server_default="0"))
