"""Types in the signatures of parts."""

from __future__ import annotations

from evenhand.core.state import Array as Array
from evenhand.core.state import FeatureShape as FeatureShape
from evenhand.core.state import Mask as Mask
from evenhand.core.state import Shape as Shape
from evenhand.core.validate import PerArm as PerArm
