"""Allocations that outlive the process: every event in a database, from which the state can be made again."""

from __future__ import annotations

from evenhand.online.store.commands import Audited as Audited
from evenhand.online.store.commands import Change as Change
from evenhand.online.store.commands import Decide as Decide
from evenhand.online.store.commands import Described as Described
from evenhand.online.store.commands import Pulse as Pulse
from evenhand.online.store.commands import Report as Report
from evenhand.online.store.commands import Total as Total
from evenhand.online.store.store import Overview as Overview
from evenhand.online.store.store import Store as Store
