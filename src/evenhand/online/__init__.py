"""Policies in production: named arms, late rewards, promises that change, and an audit of what each arm got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Bandit", "Decision"]

if TYPE_CHECKING:
    from evenhand.online.api.answers import Decision
    from evenhand.online.bandit.bandit import Bandit


def __getattr__(name: str) -> Any:
    """Load a public name at first use, so that the command line starts fast."""
    if name not in __all__:
        raise AttributeError(f"module 'evenhand.online' has no attribute {name!r}")
    from evenhand.online.bandit import bandit

    return getattr(bandit, name)
