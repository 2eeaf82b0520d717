"""Studies: configurations in TOML, and sweeps of many settings."""
