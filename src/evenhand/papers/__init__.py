"""The experiments of the five papers, run again: their results, figures and claims, and the report of it."""
