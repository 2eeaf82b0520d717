"""Bandits in production: named arms, late rewards, promises that change, and an audit of what each arm got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Bandit", "Decision", "Round"]

if TYPE_CHECKING:
    from evenhand.bandit.bandit import Bandit
    from evenhand.messages.answers import Decision
    from evenhand.messages.requests import Round


def __getattr__(name: str) -> Any:
    """Load a public name at first use, so that modules of this package are light to import."""
    if name not in __all__:
        raise AttributeError(f"module 'evenhand.bandit' has no attribute {name!r}")
    from evenhand.bandit import bandit

    return getattr(bandit, name)
