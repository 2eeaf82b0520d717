"""Data sets: logs of one's own (`logs`), and readers of public ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.datasets import clicks as clicks
    from evenhand.datasets import conversions as conversions
    from evenhand.datasets import logs as logs
    from evenhand.datasets import movielens as movielens
    from evenhand.datasets import popular as popular
else:
    __getattr__, __dir__ = lazy(__name__)
