"""The tables of the first release. Until then they are those of the code, so that they are written down once."""

from __future__ import annotations

from alembic import op

from evenhand.service.store.tables import metadata

revision = "0004"
down_revision = None


def upgrade() -> None:
    """Make them."""
    metadata.create_all(op.get_bind(), checkfirst=False)
