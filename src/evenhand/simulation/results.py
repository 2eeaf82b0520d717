"""Results of a simulation: its tables, the verdicts on its promises, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from attrs import asdict

from evenhand.core import html
from evenhand.core.errors import number_of
from evenhand.core.html import Bar
from evenhand.core.numbers import percent
from evenhand.simulation import verdicts
from evenhand.simulation.tables import ResultTables
from evenhand.simulation.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

ARMS = 8  # arms that are shown


@dataclass(frozen=True, eq=False, repr=False)
class Results(ResultTables):
    """Results of a simulation, for every policy by its label.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=100, lanes=5, checkpoints=2)
        >>> results.curves().columns.tolist()
        ['policy', 'lane', 'round', 'reward', 'regret', 'time_averaged_regret']
        >>> results.arms().columns.tolist()
        ['policy', 'lane', 'round', 'arm', 'pulls', 'fraction', 'promised']
    """

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """By label what each policy did with its promises, and what that cost, in words and numbers."""
        return verdicts.verdicts(self)

    def differences(self, against: str | None = None, *measures: str) -> pd.DataFrame:
        """Paired differences of the other policies to one of them at the horizon, lane by lane.

        All policies meet the same random numbers in a lane, so the differences vary less than the measures themselves.

        Args:
            against: label of the policy to compare with; None for the first.
            *measures: names; none for all.

        Returns:
            ``policy``, ``measure``, ``mean`` over the lanes, and the 95% interval ``low`` to ``high``, NaN for a single
            lane.

        Raises:
            EvenhandError: there is no such policy.
        """
        import pandas as pd

        found = verdicts.differences(self, next(iter(self.policies)) if against is None else against)
        rows = [asdict(one) for one in found if not measures or one.measure in measures]
        return pd.DataFrame(rows, columns=["label", "measure", "mean", "low", "high"]).rename(
            columns={"label": "policy"}
        )

    @property
    def size(self) -> str:
        """How much was simulated, in words."""
        run = self.information
        arms = number_of(len(self.names), "arm")
        return f"{number_of(run['horizon'], 'round')}, {number_of(run['lanes'], 'lane')}, {arms}, seed {run['seed']}"

    def chart(self) -> str:
        """The shares of the arms that are furthest behind or play most, against their promises, as an inline SVG."""
        shares = {label: one.pulls[-1].mean(axis=0) / self.rounds[-1] for label, one in self.policies.items()}
        promised = {label: one.promised for label, one in self.verdicts.items()}
        missing = np.max([one.missing or (0.0,) * len(self.names) for one in self.verdicts.values()], axis=0)
        urgency = np.lexsort((-sum(shares.values(), np.zeros(len(self.names))), -np.maximum(missing, 0.0)))
        arms = sorted(urgency[:ARMS].tolist())
        bars = [
            Bar(
                self.names[arm] if not place else "",
                float(share[arm]),
                None if (part := promised[label]) is None else part[arm] or None,
                colour=place,
            )
            for arm in arms
            for place, (label, share) in enumerate(shares.items())
        ]
        return html.chart(bars, list(shares), "share of the rounds; tick: promised", percent)

    def _repr_html_(self) -> str:
        """The verdicts and the shares, for a notebook."""
        texts = (html.paragraph(one.text) for one in self.verdicts.values())
        return html.notebook(html.paragraph(self.size, strong=True), *texts, self.chart())
