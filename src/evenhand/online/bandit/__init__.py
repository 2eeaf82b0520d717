"""Bandits in production: named arms, decisions, late rewards, and promises that change."""
