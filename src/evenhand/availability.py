"""Which arms can be played in a round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.environment.availability import Always as Always
    from evenhand.environment.availability import Availability as Availability
    from evenhand.environment.availability import AvailabilityTraits as AvailabilityTraits
    from evenhand.environment.availability import Independent as Independent
    from evenhand.environment.availability import Joint as Joint
    from evenhand.environment.availability import Logged as Logged
else:
    __getattr__, __dir__ = lazy(__name__)
