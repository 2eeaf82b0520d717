"""The HTTP API: its messages, its errors and its JSON."""
