"""What may change or go in any version, without a time of deprecation: it warns where it is used."""

from __future__ import annotations

import warnings

#: What is experimental, and why; the documentation lists it.
EXPERIMENTAL = {"sweeps on Dask and Ray": "they were tried on clusters of one machine only"}


class ExperimentalWarning(UserWarning):
    """Something is used that may change or go in any version of Evenhand; `evenhand.sweep` on a cluster, for instance.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore", ExperimentalWarning)
    """


def experimental(name: str) -> None:
    """Warn the caller's caller that it uses one of `EXPERIMENTAL`."""
    text = f"{name} are experimental, as {EXPERIMENTAL[name]}: they may change in any version"
    warnings.warn(text, ExperimentalWarning, stacklevel=3)
