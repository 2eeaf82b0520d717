"""Durable allocations: every event in a database, from which the state can be rebuilt."""

from __future__ import annotations

from evenhand.service.store.changes import AddArm as AddArm
from evenhand.service.store.changes import EraseArm as EraseArm
from evenhand.service.store.changes import RenameArm as RenameArm
from evenhand.service.store.changes import UpdateAllocation as UpdateAllocation
from evenhand.service.store.changes import UpdateArm as UpdateArm
from evenhand.service.store.commands import Decide as Decide
from evenhand.service.store.commands import Reward as Reward
from evenhand.service.store.commands import Total as Total
from evenhand.service.store.leases import LeaseRounds as LeaseRounds
from evenhand.service.store.leases import ReportLease as ReportLease
from evenhand.service.store.preview import PreviewChange as PreviewChange
from evenhand.service.store.reading import Describe as Describe
from evenhand.service.store.reading import ReadArms as ReadArms
from evenhand.service.store.reading import ReadAudit as ReadAudit
from evenhand.service.store.reading import ReadDecision as ReadDecision
from evenhand.service.store.reading import ReadGauges as ReadGauges
from evenhand.service.store.reading import ReadHealth as ReadHealth
from evenhand.service.store.store import Store as Store
