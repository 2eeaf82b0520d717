"""What the configurations of Huang et al. 2020, their policies and their measure are called."""

from __future__ import annotations

REGRET = "time_averaged_regret"
#: The two policies that every claim is about; labels go on with η.
PAIR = ("TSCSF-B", "LFG")
#: The configurations.
FIRST, SECOND, BOUNDS, FILMS = "h1-h3", "h2-h4", "h5", "h6-h7"
#: How the labels of the films end.
BALANCED, FREE = ", balanced η", ", η = ∞"
ZOOM = 100  # rounds that the paper's insets show
