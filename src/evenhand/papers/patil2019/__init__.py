"""Patil et al. 2019: minimum shares of the rounds."""
