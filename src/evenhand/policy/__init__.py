"""Policies and their parts: index, evidence, fairness, selection, schedule and hold."""
