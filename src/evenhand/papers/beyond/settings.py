"""Experiments beyond the papers. All claims are ours unless they say otherwise."""

from __future__ import annotations

from evenhand.papers.beyond import contexts, drift, late, promises, sums

EXPERIMENTS = (
    *drift.EXPERIMENTS,
    *late.EXPERIMENTS,
    *sums.EXPERIMENTS,
    *promises.EXPERIMENTS,
    *contexts.EXPERIMENTS,
)
