"""Experiments beyond the papers. Claims are ours where they name no paper."""

from __future__ import annotations

from evenhand.papers.beyond import contexts, drift, late, linear_late, promises, ranks, sums, yeast

EXPERIMENTS = (
    *drift.EXPERIMENTS,
    *late.EXPERIMENTS,
    *sums.EXPERIMENTS,
    *promises.EXPERIMENTS,
    *contexts.EXPERIMENTS,
    *yeast.EXPERIMENTS,
    *linear_late.EXPERIMENTS,
    *ranks.EXPERIMENTS,
)
