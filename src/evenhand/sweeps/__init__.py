"""Sweeps: a study of many settings, each a configuration with other values, whose results are kept."""
