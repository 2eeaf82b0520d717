"""Configuration files: TOML tables of policies, environments and runs."""
