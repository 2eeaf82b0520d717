"""What is known of the situation and the arms before a decision, in simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.environment.contexts import Categories as Categories
    from evenhand.environment.contexts import Context as Context
    from evenhand.environment.contexts import Contexts as Contexts
    from evenhand.environment.contexts import Log as Log
    from evenhand.environment.contexts import Normal as Normal
else:
    __getattr__, __dir__ = lazy(__name__)
