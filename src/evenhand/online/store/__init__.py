"""Durable allocations: every event in a database, from which the state can be rebuilt."""

from __future__ import annotations

from evenhand.online.store.changes import AddArm as AddArm
from evenhand.online.store.changes import EraseArm as EraseArm
from evenhand.online.store.changes import RenameArm as RenameArm
from evenhand.online.store.changes import UpdateAllocation as UpdateAllocation
from evenhand.online.store.changes import UpdateArm as UpdateArm
from evenhand.online.store.commands import Decide as Decide
from evenhand.online.store.commands import Reward as Reward
from evenhand.online.store.commands import Total as Total
from evenhand.online.store.leases import LeaseRounds as LeaseRounds
from evenhand.online.store.leases import ReportLease as ReportLease
from evenhand.online.store.preview import PreviewChange as PreviewChange
from evenhand.online.store.reading import Describe as Describe
from evenhand.online.store.reading import ReadArms as ReadArms
from evenhand.online.store.reading import ReadAudit as ReadAudit
from evenhand.online.store.reading import ReadDecision as ReadDecision
from evenhand.online.store.reading import ReadGauges as ReadGauges
from evenhand.online.store.reading import ReadHealth as ReadHealth
from evenhand.online.store.store import Store as Store
