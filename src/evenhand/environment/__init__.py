"""Environments: what plays earn, which arms are available, and when rewards become known."""
