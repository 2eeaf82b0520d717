"""What is known of the situation and the arms before a decision, in simulations."""

from __future__ import annotations

from evenhand.environment.contexts import Categories as Categories
from evenhand.environment.contexts import Context as Context
from evenhand.environment.contexts import Contexts as Contexts
from evenhand.environment.contexts import Log as Log
from evenhand.environment.contexts import Normal as Normal
