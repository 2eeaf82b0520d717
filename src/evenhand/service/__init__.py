"""Allocations that are kept in a database, and the HTTP service in front of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.service.http.app import create_app as create_app
    from evenhand.service.store import Change as Change
    from evenhand.service.store import Decide as Decide
    from evenhand.service.store import Describe as Describe
    from evenhand.service.store import LeaseRounds as LeaseRounds
    from evenhand.service.store import ReadArms as ReadArms
    from evenhand.service.store import ReadAudit as ReadAudit
    from evenhand.service.store import ReadDecision as ReadDecision
    from evenhand.service.store import ReadDifferences as ReadDifferences
    from evenhand.service.store import ReadGauges as ReadGauges
    from evenhand.service.store import ReadHealth as ReadHealth
    from evenhand.service.store import ReadPrice as ReadPrice
    from evenhand.service.store import ReadStopping as ReadStopping
    from evenhand.service.store import ReportLease as ReportLease
    from evenhand.service.store import Reward as Reward
    from evenhand.service.store import Store as Store
    from evenhand.service.store import Total as Total
    from evenhand.service.store.verify import verify as verify
else:
    __getattr__, __dir__ = lazy(__name__)
