"""Clicks as an adversary: tables in which every step exactly one arm pays, as in Wang et al. 2021, section 4.2.

Two logs of Kaggle's, as published, and a generator of synthetic tables for those who do not have them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import DataError
from evenhand.core.files import path_of
from evenhand.core.state import Array
from evenhand.datasets.rows import Sheet

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def outbrain(folder: str | os.PathLike[str], arms: int = 7, rows: int = 100_000) -> tuple[tuple[str, ...], Array]:
    """Categories of advertisements, from Outbrain Click Prediction (Kaggle 2016).

    Every click is a step, and the arm that pays is the category of the page that the clicked advertisement leads to:
    the one with the largest confidence, the smallest number on a tie. The most clicked categories among the first
    ``rows`` clicks of a known category are the arms; clicks on others are skipped, which the paper does not say. Read
    in a stream.

    Args:
        folder: with ``clicks_train.csv``, ``promoted_content.csv`` and ``documents_categories.csv``.
        arms: number of categories.
        rows: clicks to look at.

    Returns:
        Names of the arms, and the rewards, (steps, arms).

    Raises:
        DataError: a file or a column is missing, a row is broken (names it), or there are too few categories.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "clicks_train.csv").write_text("ad_id,clicked\\n7,1\\n8,0\\n9,1\\n")
        >>> _ = (folder / "promoted_content.csv").write_text("ad_id,document_id\\n7,1\\n8,1\\n9,2\\n")
        >>> columns = "document_id,category_id,confidence_level"
        >>> _ = (folder / "documents_categories.csv").write_text(f"{columns}\\n1,1403,0.9\\n2,1702,0.8\\n")
        >>> names, rewards = outbrain(folder, arms=2)
        >>> names, rewards.tolist()
        (('category 1403', 'category 1702'), [[1.0, 0.0], [0.0, 1.0]])
    """
    validate.whole("arms", arms)
    validate.whole("rows", rows)
    folder = path_of(folder, "folder")
    category = _categories(folder)
    winners: list[int] = []
    sheet = Sheet(folder / "clicks_train.csv")
    for row, (ad, clicked) in sheet.rows("ad_id", "clicked"):
        winner = category.get(sheet.whole(row, "ad_id", ad))
        if clicked not in ("0", "1"):
            raise sheet.fault(row, "clicked", clicked, "not 0 or 1")
        if clicked == "1" and winner is not None:
            winners.append(winner)
            if len(winners) == rows:
                break
    chosen = [number for number, _ in Counter(winners).most_common(arms)]
    if len(chosen) < arms:
        raise DataError(f"the clicks in {folder} are on {len(chosen)} categories, fewer than arms = {arms}")
    arm_of = {number: arm for arm, number in enumerate(chosen)}
    steps = np.array([arm_of[winner] for winner in winners if winner in arm_of])
    return tuple(f"category {number}" for number in chosen), one_hot(steps, arms)


def _categories(folder: Path) -> Mapping[int, int]:
    """The category of every advertisement."""
    best: dict[int, tuple[float, int]] = {}  # of each document: minus the confidence, and the category
    sheet = Sheet(folder / "documents_categories.csv")
    for row, (document, number, level) in sheet.rows("document_id", "category_id", "confidence_level"):
        page = sheet.whole(row, "document_id", document)
        known = -sheet.number(row, "confidence_level", level), sheet.whole(row, "category_id", number)
        best[page] = min(known, best.get(page, known))
    category: dict[int, int] = {}
    sheet = Sheet(folder / "promoted_content.csv")
    for row, (ad, document) in sheet.rows("ad_id", "document_id"):
        page = sheet.whole(row, "document_id", document)
        if page in best:
            category[sheet.whole(row, "ad_id", ad)] = best[page][1]
    return category


def coupons(path: str | os.PathLike[str], rows: int = 100_000) -> tuple[tuple[str, ...], Array]:
    """Days of the week, from Coupon Purchase Prediction (Kaggle 2015).

    Every visit to a coupon's page is a step, in the order of the file, and the arm that pays is the weekday on which it
    happened. Read in a stream.

    Args:
        path: of ``coupon_visit_train.csv``.
        rows: visits to look at.

    Returns:
        Monday to Sunday, and the rewards, (steps, 7).

    Raises:
        DataError: the file or a column is missing, or a row has no date (names it).

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "coupon_visit_train.csv"
        >>> _ = file.write_text("PURCHASE_FLG,I_DATE\\n0,2012-03-28 14:15:00\\n1,2012-03-31 09:00:00\\n")
        >>> names, rewards = coupons(file)
        >>> [names[day] for day in rewards.argmax(axis=1)]
        ['Wednesday', 'Saturday']
    """
    winners: list[int] = []
    validate.whole("rows", rows)
    sheet = Sheet(path)
    for row, (date,) in sheet.rows("I_DATE"):
        try:
            winners.append(datetime.strptime(date, "%Y-%m-%d %H:%M:%S").weekday())
        except ValueError:
            raise sheet.fault(row, "I_DATE", date, "not a date such as 2012-03-28 14:15:00") from None
        if len(winners) == rows:
            break
    if not winners:
        raise DataError(f"{path} holds no visits")
    return WEEKDAYS, one_hot(np.array(winners), len(WEEKDAYS))


def synthetic(rounds: int, arms: int, seed: int = 0, drift: float = 0.01, burst: float = 20.0) -> Array:
    """A made-up table of the same shape: one arm pays in every step, in bursts, with chances that drift.

    The logarithms of the arms' chances start in steps of 0.3, so that one arm is best in hindsight more often than not,
    and walk at random; the arm that pays stays the same for a geometric number of steps.

    Args:
        rounds: steps.
        arms: K ≥ 2.
        seed: ≥ 0.
        drift: standard deviation of a step of the walk, ≥ 0.
        burst: mean number of steps for which an arm goes on paying, ≥ 1.

    Returns:
        (rounds, arms), 0 or 1.

    Example:
        >>> table = synthetic(rounds=1000, arms=7, seed=1)
        >>> table.shape, bool((table.sum(axis=1) == 1).all())
        ((1000, 7), True)
    """
    validate.whole("rounds", rounds)
    validate.whole("arms", arms, low=2)
    validate.number("drift", drift, low=0.0)
    validate.number("burst", burst, low=1.0)
    rng = np.random.default_rng(validate.whole("seed", seed, low=0))
    walk = -0.3 * np.arange(arms) + np.cumsum(rng.normal(0.0, drift, (rounds, arms)), axis=0)
    fresh = (walk + rng.gumbel(size=walk.shape)).argmax(axis=1)  # a draw from the softmax of every step
    changes = rng.random(rounds) < 1.0 / burst
    changes[0] = True
    return one_hot(fresh[np.flatnonzero(changes)[np.cumsum(changes) - 1]], arms)


def one_hot(winners: NDArray[np.integer], arms: int) -> Array:
    """A table in which the given arm of each step pays 1, (steps, arms).

    Args:
        winners: (steps,), numbers of arms from 0.
        arms: number of arms.

    Returns:
        Rewards, 0 or 1.

    Example:
        >>> import numpy as np
        >>> one_hot(np.array([1, 0]), arms=2)
        array([[0., 1.],
               [1., 0.]])
    """
    return np.asarray(winners[:, np.newaxis] == np.arange(arms), dtype=float)
