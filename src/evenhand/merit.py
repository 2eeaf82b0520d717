"""Merit: what an arm with a given mean deserves, relative to others."""

from __future__ import annotations

from evenhand.policy.custom_merit import Custom as Custom
from evenhand.policy.merit import Linear as Linear
from evenhand.policy.merit import Merit as Merit
from evenhand.policy.merit import Power as Power
from evenhand.policy.merit import Softmax as Softmax
from evenhand.policy.merit import Tabulated as Tabulated
from evenhand.policy.merit import Threshold as Threshold
