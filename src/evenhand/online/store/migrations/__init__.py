"""The tables of the store, from version to version."""
