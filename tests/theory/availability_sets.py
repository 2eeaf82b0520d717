"""Every set of available arms with its chance, by plain listing: the reference for several tests."""

from __future__ import annotations

import itertools

import numpy as np

from evenhand.environment.availability import Availability, Independent, Joint, Logged


def listed(availability: Availability, arms: int) -> list[tuple[tuple[bool, ...], float]]:
    """Every set of available arms with its chance, from the model's parameters alone."""
    if isinstance(availability, Independent):
        chance = availability.probabilities.tolist()
        sets = itertools.product((False, True), repeat=arms)
        return [(s, float(np.prod([p if on else 1.0 - p for p, on in zip(chance, s, strict=True)]))) for s in sets]
    if isinstance(availability, Joint):
        rows = [tuple(bool(x) for x in row) for row in availability.sets]
        return list(zip(rows, availability.probabilities.tolist(), strict=True))
    if isinstance(availability, Logged):
        rows = [tuple(bool(x) for x in row) for row in availability.table]
        return [(row, 1.0 / len(rows)) for row in rows]
    return [((True,) * arms, 1.0)]
