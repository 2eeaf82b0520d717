"""Types in the signatures of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.core.cohorts import Answers as Answers
    from evenhand.core.parts import Part as Part
    from evenhand.core.state import Array as Array
    from evenhand.core.state import Decision as Decision
    from evenhand.core.state import FeatureShape as FeatureShape
    from evenhand.core.state import Mask as Mask
    from evenhand.core.state import Shape as Shape
    from evenhand.core.state import Tally as Tally
    from evenhand.core.validate import PerArm as PerArm
else:
    __getattr__, __dir__ = lazy(__name__)
