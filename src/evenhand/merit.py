"""Merit: what an arm with a given mean deserves, relative to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.policy.custom_merit import Custom as Custom
    from evenhand.policy.merit import Linear as Linear
    from evenhand.policy.merit import Merit as Merit
    from evenhand.policy.merit import Power as Power
    from evenhand.policy.merit import Softmax as Softmax
    from evenhand.policy.merit import Tabulated as Tabulated
    from evenhand.policy.merit import Threshold as Threshold
else:
    __getattr__, __dir__ = lazy(__name__)
