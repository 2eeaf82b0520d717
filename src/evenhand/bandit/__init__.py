"""Bandits in production: named arms, late rewards, promises that change, and an audit of what each arm got."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.bandit.bandit import Bandit as Bandit
    from evenhand.messages.answers import Decision as Decision
    from evenhand.messages.requests import Round as Round

HOMES = {"Bandit": "bandit.bandit", "Decision": "messages.answers", "Round": "messages.requests"}
__all__ = ["Bandit", "Decision", "Round"]


def __getattr__(name: str) -> Any:
    """Load a public name at first use, so that modules of this package are light to import."""
    if name not in HOMES:  # `lazy` would look elsewhere for each module that is imported from here, which loads others
        raise AttributeError(f"module 'evenhand.bandit' has no attribute {name!r}")
    return getattr(import_module(f"evenhand.{HOMES[name]}"), name)
