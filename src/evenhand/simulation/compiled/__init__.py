"""Simulations by compiled loops, with the same results to the last digit."""
