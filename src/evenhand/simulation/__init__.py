"""Simulations: policies in environments, metrics, results, figures, and checks of one's own parts."""
