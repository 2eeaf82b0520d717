"""What is known of a situation and of the arms before a decision, as numbers: `Features` and the kinds of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.features.declaration import Features as Features
    from evenhand.features.kinds import Category as Category
    from evenhand.features.kinds import Feature as Feature
    from evenhand.features.kinds import Flag as Flag
    from evenhand.features.kinds import Number as Number
    from evenhand.features.kinds import Vector as Vector
else:
    __getattr__, __dir__ = lazy(__name__)
