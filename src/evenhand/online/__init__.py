"""Policies in real use: named arms, late reports, promises that change, and an audit of what each arm got."""

from __future__ import annotations

from evenhand.online.bandit import Bandit as Bandit
from evenhand.online.bandit import Choice as Choice
