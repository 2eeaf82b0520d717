"""Figures of results: measures over the rounds, shares, arms over time, policies against each other, delays."""
