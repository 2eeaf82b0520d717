"""Durable allocations: every event in a database, from which the state can be rebuilt."""

from __future__ import annotations

from evenhand.online.store.commands import Change as Change
from evenhand.online.store.commands import Decide as Decide
from evenhand.online.store.commands import Describe as Describe
from evenhand.online.store.commands import ReadAudit as ReadAudit
from evenhand.online.store.commands import ReadGauges as ReadGauges
from evenhand.online.store.commands import Reward as Reward
from evenhand.online.store.commands import Total as Total
from evenhand.online.store.store import AllocationSummary as AllocationSummary
from evenhand.online.store.store import Store as Store
