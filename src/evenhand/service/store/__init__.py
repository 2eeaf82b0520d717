"""Durable allocations: every event in a database, from which the state can be rebuilt."""

from __future__ import annotations

from evenhand.service.store.changes import Change as Change
from evenhand.service.store.commands import Decide as Decide
from evenhand.service.store.commands import Reward as Reward
from evenhand.service.store.commands import Total as Total
from evenhand.service.store.leases import LeaseRounds as LeaseRounds
from evenhand.service.store.leases import ReportLease as ReportLease
from evenhand.service.store.reading import Describe as Describe
from evenhand.service.store.reading import ReadArms as ReadArms
from evenhand.service.store.reading import ReadAudit as ReadAudit
from evenhand.service.store.reading import ReadDecision as ReadDecision
from evenhand.service.store.reading import ReadDifferences as ReadDifferences
from evenhand.service.store.reading import ReadGauges as ReadGauges
from evenhand.service.store.reading import ReadHealth as ReadHealth
from evenhand.service.store.reading import ReadPrice as ReadPrice
from evenhand.service.store.reading import ReadStopping as ReadStopping
from evenhand.service.store.store import Store as Store
