"""Whether a promise was kept or missed, and what became of a claim of a paper: one rule for each, and its sentences."""
