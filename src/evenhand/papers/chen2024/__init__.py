"""Chen et al. 2024: shares by merit under delays."""
