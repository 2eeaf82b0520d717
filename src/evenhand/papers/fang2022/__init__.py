"""Fang et al. 2022: a price for missing plays."""
