"""The experiments of the five papers, with their results, figures and claims, and the report about them."""
