"""Wang et al. 2021: anonymous sums."""
