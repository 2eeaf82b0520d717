"""Results of a sweep: its tables, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from evenhand.core import html
from evenhand.core.html import Bar
from evenhand.studies import answer
from evenhand.studies.tables import SweepTables

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 8  # choices of a chart


@dataclass(frozen=True, eq=False, repr=False)
class SweepResults(SweepTables):
    """Results of the finished units of a study.

    Example:
        >>> from evenhand import sweep
        >>> world = {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}}
        >>> config = {"horizon": 50, "lanes": 4, "environment": world, "policies": [{"algorithm": "ucb1"}]}
        >>> results = sweep(config, {"horizon": [10, 20], "lanes": [3, 4]})
        >>> results
        <Results of 4 settings: 4 units finished>
        >>> results.lanes("regret").columns.tolist()
        ['setting', 'horizon', 'lanes', 'policy', 'round', 'lane', 'regret']
    """

    def choices(self) -> pd.DataFrame:
        """A row for each policy with its values of the axes: what it kept and earned, and how often it is the best.

        The best of a world, the values of all axes that are not the policies', is who earned most of those that surely
        kept all promises. Differences to it are lane by lane.

        Returns:
            ``policy``, a column for each axis of policies, ``settings``, how many of them it ``kept``, ``missed`` and
            left ``undecided``, its ``reward`` per round, in how many ``worlds`` it is ``best`` and how many ``close``
            (the 95% interval of its difference to the best has 0 in it), and by how much reward per round it is
            ``behind`` the best where it kept, with the interval ``low`` to ``high``. The best ones first.
        """
        return self._choices.copy()

    @cached_property
    def _choices(self) -> pd.DataFrame:
        return answer.choices(self)

    @cached_property
    def answer(self) -> list[str]:
        """What each policy kept, who earned most of those that kept all promises, which axis matters, in words."""
        return answer.sentences(self, self._choices)

    def effects(self, measure: str) -> pd.DataFrame:
        """How far a measure moves along each axis, from the value where it is lowest to that where it is highest.

        It is the mean over all else, of the policies that the axis concerns. The interval of the difference is lane by
        lane where every combination was run, and over the settings where they were drawn; it allows for all pairs of
        values that were looked at (Bonferroni). Axes that move together have no effects of their own.

        Args:
            measure: name of a measure.

        Returns:
            ``axis``, ``lowest_at``, ``lowest``, ``highest_at``, ``highest``, and the ``difference`` with its interval
            ``low`` to ``high``, in the unit of the measure; the axis that matters most first.

        Raises:
            EvenhandError: there is no such measure.
        """
        self._asked([measure])
        return answer.effects(self, measure)

    def chart(self) -> str:
        """What the best policies with their values of the axes earned per round, as an inline SVG."""
        rows = self._choices.head(SHOWN).to_dict("records")
        bars = [Bar(answer.named(self, row), row["reward"], colour=0 if row["best"] else 5) for row in rows]
        return html.chart(bars, caption="reward per round; the best ones first, dark where best of those that kept")

    def _repr_html_(self) -> str:
        """The answer and what the best earned, for a notebook."""
        return html.notebook(
            html.paragraph(repr(self)[1:-1], strong=True), *map(html.paragraph, self.answer), self.chart()
        )
