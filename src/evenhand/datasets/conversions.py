"""Ads and their conversions: the experiment of Chen et al. 2024, section 6, on a conversion log.

Every ad is an arm and every page visit a round; a conversion is a reward of 1, known when the purchase follows the
click. The log is Criteo's Sponsored Search Conversion Log: M. Tallis, P. Yadav: Reacting to Variations in Product
Demand: An Application for Conversion Rate Prediction in Sponsored Search. IEEE Big Data 2018.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import DataError, EvenhandError, number_of, there_are
from evenhand.core.files import path_of
from evenhand.core.state import Array
from evenhand.core.validate import PerArm
from evenhand.datasets.rows import Layout, Sheet, number_or_nan
from evenhand.environment.delays import Empirical
from evenhand.environment.rewards import Bernoulli
from evenhand.environment.world import Environment

ADS = 10  # most clicked ones
CLICK_RATE = 0.05  # clicks per page visit
WEEK = 7 * 86400.0  # seconds
RATES = ("scaled_conversions", "scaled_rates", "rates")
#: The columns that are read, in the log as published and in an extract of five columns.
PLACES = {
    23: {0: "sale", 2: "seconds", 4: "clicks", 20: "title"},
    5: {0: "sale", 1: "seconds", 2: "clicks", 4: "title"},
}


@dataclass(frozen=True, eq=False)
class Conversions:
    """What became of the clicks on some ads."""

    titles: tuple[str, ...]  # hashed titles of the products, the most clicked first
    clicks: Array  # (ads,), clicks on each ad in the log
    sales: Array  # (ads,), how many of them converted
    # for each ad, one row per conversion of known delay: seconds from click to conversion, and clicks on the ad in the
    # week before
    delays: tuple[Array, ...]

    def environment(self, rates: PerArm | str | None = None, click_rate: float = CLICK_RATE) -> Environment:
        """The log as an environment, the way the paper describes.

        An ad clicked n times per week, at a click rate of ρ, is shown n/ρ times per week; so a delay of s seconds is
        ``s (n/ρ) / (seconds per week)`` page visits, rounded down. The delay of a reward of 0 is drawn from the same
        delays, so that it says nothing about the reward. The code published with the paper differs: there most rewards
        of 0 are known at once, and so are those whose delay exceeds 50,000 visits.

        Args:
            rates: mean rewards: one per ad, in [0, 1], or ``"scaled_conversions"`` (numbers of conversions, scaled
                so that the smallest is 0 and the largest 1, as the paper says), ``"scaled_rates"`` (conversions per
                click, scaled, as the paper's code does), or ``"rates"`` (conversions per click). None: the first, if
                the log holds clicks that did not convert, else an error.
            click_rate: ρ in (0, 1], clicks per page visit.

        Raises:
            DataError: the rates cannot be had from this log.
        """
        return _environment(self._rates(rates), [visits(rows, click_rate) for rows in self.delays])

    def _rates(self, rates: PerArm | str | None) -> PerArm:
        if not (rates is None or isinstance(rates, str)):
            return rates
        if rates in (None, "scaled_rates", "rates") and not (self.clicks > self.sales).any():
            raise DataError(
                "this log holds conversions only, and none of the clicks that did not convert: give rates, one per ad, "
                "or rates = 'scaled_conversions' to scale the numbers of conversions"
            )
        return named_rates(rates or RATES[0], self.sales, self.clicks)

    def figures(self, points: int = 41) -> dict[str, Any]:
        """A summary that stands for the log: numbers of clicks and conversions, and equally spaced quantiles
        of the delays in clicks of the ad's own week.

        Args:
            points: number of quantiles.

        Returns:
            ``clicks``, ``sales`` and ``delays`` by ad.
        """
        levels = np.linspace(0.0, 1.0, points)
        weeks = [np.quantile(rows[:, 0] * rows[:, 1] / WEEK, levels) for rows in self.delays]
        return {
            "clicks": self.clicks.astype(int).tolist(),
            "sales": self.sales.astype(int).tolist(),
            "delays": [np.round(row, 3).tolist() for row in weeks],
        }


def visits(rows: Array, click_rate: float = CLICK_RATE) -> Array:
    """Delays in page visits, from rows of seconds and clicks per week.

    Args:
        rows: (conversions, 2), seconds until the conversion and the ad's clicks per week.
        click_rate: clicks per page visit, in (0, 1].

    Returns:
        (conversions,), whole numbers of visits.

    Raises:
        EvenhandError: the click rate is not in (0, 1].

    Example:
        >>> import numpy as np
        >>> visits(np.array([[3600.0, 8400.0]]), click_rate=0.05)
        array([1000.])
    """
    if validate.number("click_rate", click_rate, 0.0, 1.0) == 0.0:
        raise EvenhandError("must be above 0, got 0", "click_rate")
    # A ten-millionth of a visit is a rounding error.
    return np.asarray(np.floor(rows[:, 0] * (rows[:, 1] / click_rate) / WEEK + 1e-7))


def named_rates(name: str, sales: Array, clicks: Array) -> Array:
    """The mean rewards that `Conversions.environment` describes.

    Args:
        name: ``"rates"``, or ``"scaled_rates"`` or ``"scaled_conversions"``, which go from 0 to 1.
        sales: (arms,), clicks with a sale.
        clicks: (arms,), clicks.

    Returns:
        (arms,), mean rewards in [0, 1].

    Example:
        >>> import numpy as np
        >>> named_rates("scaled_conversions", np.array([10.0, 20.0, 30.0]), np.array([100.0, 100.0, 100.0]))
        array([0. , 0.5, 1. ])
    """
    validate.one_of("rates", name, RATES)
    values = sales if name == "scaled_conversions" else sales / clicks
    if name == "rates":
        return values
    spread = values.max() - values.min()
    if spread == 0.0:
        raise DataError("all ads convert alike, so their rates cannot be scaled to [0, 1]; give rates, one per ad")
    return np.asarray((values - values.min()) / spread)


def shipped(rates: PerArm | str = "scaled_conversions", click_rate: float = CLICK_RATE) -> Environment:
    """The ten most clicked ads of the log, as figures that ship with the package.

    Numbers of conversions, and 41 quantiles of the delays of each ad; the log itself does not ship. Delays are drawn
    from the quantiles.

    Args:
        rates: ``"scaled_conversions"``, or mean rewards, one per ad.
        click_rate: clicks per page visit.

    Example:
        >>> shipped().means.round(2).tolist()
        [1.0, 0.88, 0.84, 0.5, 0.35, 0.28, 0.23, 0.21, 0.2, 0.0]
    """
    table = json.loads((files("evenhand.datasets") / "conversions.json").read_text(encoding="utf-8"))
    sales, clicks = np.array(table["sales"], dtype=float), np.array(table["clicks"], dtype=float)
    log = Conversions(tuple(map(str, sales)), clicks, sales, tuple(_week(row) for row in table["delays"]))
    return log.environment(rates, click_rate)


def _week(clicks: Sequence[float]) -> Array:
    """Delays in clicks, as rows of a week and so many clicks."""
    return np.stack([np.full(len(clicks), WEEK), np.array(clicks)], axis=1)


def load(path: str | os.PathLike[str], ads: int = ADS) -> Conversions:
    """The most clicked ads of a conversion log: tab separated, without a header, 23 columns as published or 5.

    The 5 columns of an extract are: sale, seconds from click to conversion, clicks on the ad in the last week, product
    id, hashed title. The title identifies the ad; rows without one (empty or −1) are skipped. Conversions whose delay
    is not known (−1) count as conversions, but not among the delays. The file is read twice, in a stream.

    Args:
        path: of the log.
        ads: how many of them, ≥ 1.

    Raises:
        DataError: the file is missing or of another format, a row is broken (names it), or an ad has no conversion of
            known delay.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.tsv"
        >>> _ = file.write_text("1\\t3600\\t8400\\tP1\\tlamp\\n0\\t-1\\t8400\\tP1\\tlamp\\n")
        >>> log = load(file, ads=1)
        >>> log.clicks, log.sales, log.delays[0]
        (array([2.]), array([1.]), array([[3600., 8400.]]))
    """
    validate.whole("ads", ads)
    path = path_of(path)
    clicks: Counter[str] = Counter()
    for click in _clicks(path):
        clicks[click.title] += 1
    chosen = [title for title, _ in clicks.most_common(ads)]
    if len(chosen) < ads:
        raise DataError(f"{path} holds clicks on {len(chosen)} ads, fewer than ads = {ads}")
    sales: Counter[str] = Counter()
    known: dict[str, list[tuple[float, float]]] = {title: [] for title in chosen}
    for click in _clicks(path):
        if click.sale and click.title in known:
            sales[click.title] += 1
            if click.seconds >= 0.0 and click.clicks >= 0.0:
                known[click.title].append((click.seconds, click.clicks))
    for title in chosen:
        if not known[title]:
            raise DataError(f"{path} holds no conversion of known delay of ad {title[:40]!r}; choose fewer ads")
    return Conversions(
        titles=tuple(chosen),
        clicks=np.array([float(clicks[title]) for title in chosen]),
        sales=np.array([float(sales[title]) for title in chosen]),
        delays=tuple(np.array(known[title]) for title in chosen),
    )


class _Click(NamedTuple):
    """What matters of a row."""

    sale: bool
    seconds: float
    clicks: float
    title: str


def _clicks(path: Path) -> Iterator[_Click]:
    """The clicks on ads with a title, one at a time; blank lines are skipped."""
    width = _width(path)
    columns = tuple(PLACES[width].get(place, f"{place + 1}") for place in range(width))
    sheet = Sheet(path, Layout("\t", columns, encoding="utf-8"))
    for row, (sale, seconds, clicks, title) in sheet.rows("sale", "seconds", "clicks", "title"):
        converted = number_or_nan(sale)
        if converted not in (0.0, 1.0):
            raise sheet.fault(row, "sale", sale, "not 0 or 1")
        delay, week = _count(sheet, row, "seconds", seconds), _count(sheet, row, "clicks", clicks)
        if title not in ("", "-1"):
            yield _Click(converted == 1.0, delay, week, title)


def _count(sheet: Sheet, row: int, column: str, cell: str) -> float:
    value = number_or_nan(cell)
    if not -1.0 <= value < math.inf:
        raise sheet.fault(row, column, cell, "not a number of at least -1")
    return value


def _width(path: Path) -> int:
    """The number of columns, from the first row."""
    _, cells = next(Sheet(path, Layout("\t", (), more=True, encoding="utf-8")).rows(), (0, None))
    if cells is None:
        raise DataError(f"{path} is empty")
    if len(cells) not in PLACES:
        raise DataError(
            f"{path} has {number_of(len(cells), 'column')} separated by tabs; a conversion log has 23, or 5: sale, "
            "seconds, clicks, product id, title"
        )
    return len(cells)


def _environment(rates: PerArm, delays: Sequence[Array]) -> Environment:
    means = validate.per_arm("rates", rates, 0.0, 1.0)
    if len(means) != len(delays):
        raise EvenhandError(
            f"has {number_of(len(means), 'entry', 'entries')}, but {there_are(len(delays), 'ad')}", "rates"
        )
    names = tuple(f"ad {place + 1}" for place in range(len(delays)))
    return Environment(Bernoulli(means), feedback=Empirical(delays), names=names)
