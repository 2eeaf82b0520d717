"""Intervals of means, shares and rewards, from sums and counts."""
