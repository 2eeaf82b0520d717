"""Audits: what each arm was promised, what it got, and what its rewards were."""
