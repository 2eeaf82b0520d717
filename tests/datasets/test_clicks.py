"""Loaders of the two click logs on small files in their formats, and made-up tables against their own statistics."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import Environment, EvenhandError, check_environment
from evenhand.core.errors import DataError
from evenhand.core.state import Array
from evenhand.datasets import clicks
from evenhand.environment.rewards import Table

SIGMAS = 5.0  # a mean strays further than that once in 1.7 million times

# Documents 10, 20, 30 are of category 5, 6 and 7; advertisements 1 and 2 lead to document 10, 3 to 20, 4 to 30, 9 to
# one of no known category.
CATEGORIES = """document_id,category_id,confidence_level
10,6,0.2
10,5,0.9
20,6,0.5
30,7,0.07
"""
CONTENT = """ad_id,document_id,campaign_id,advertiser_id
1,10,1,7
2,10,1,7
3,20,2,19
4,30,3,17
9,90,3,17
"""
CLICKED = [3, 1, 9, 4, 2, 3, 77, 1]  # advertisements, in order; 77 is not promoted anywhere
NAMED = [6, 5, 7, 5, 6, 5]  # their categories, where known


def clicks_on(ads: list[int]) -> str:
    """Every display shows three advertisements, of which one is clicked."""
    rows = [f"{display},{shown},{int(shown == ad)}" for display, ad in enumerate(ads) for shown in (ad, 101, 102)]
    return "display_id,ad_id,clicked\n" + "".join(f"{row}\n" for row in rows)


def outbrain_files(folder: Path, train: str = "", content: str = CONTENT, categories: str = CATEGORIES) -> Path:
    (folder / "clicks_train.csv").write_text(train or clicks_on(CLICKED))
    (folder / "promoted_content.csv").write_text(content)
    (folder / "documents_categories.csv").write_text(categories)
    return folder


def winners(names: tuple[str, ...], table: Array) -> list[str]:
    """The arm that pays in each step; exactly one does."""
    assert table.shape[1] == len(names)
    assert set(np.unique(table)) <= {0.0, 1.0}
    assert (table.sum(axis=1) == 1.0).all()
    return [names[arm] for arm in table.argmax(axis=1)]


# --- Outbrain ---------------------------------------------------------------------------------------------------------


def test_the_category_of_every_click(tmp_path: Path) -> None:
    names, table = clicks.outbrain(outbrain_files(tmp_path), arms=3)
    assert names == ("category 5", "category 6", "category 7")  # clicked 3, 2 and 1 times
    assert winners(names, table) == [f"category {found}" for found in NAMED]


def test_clicks_on_other_categories_are_skipped(tmp_path: Path) -> None:
    names, table = clicks.outbrain(str(outbrain_files(tmp_path)), arms=2)
    assert names == ("category 5", "category 6")
    assert winners(names, table) == [f"category {found}" for found in NAMED if found != 7]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 6, 7, 100])
def test_categories_are_chosen_among_the_first_clicks(rows: int, tmp_path: Path) -> None:
    # Only clicks of a known category count.
    first = NAMED[:rows]
    arms = len(set(first))
    names, table = clicks.outbrain(outbrain_files(tmp_path), arms, rows)
    # The most clicked first; of equal ones the one that was clicked first.
    assert names == tuple(
        f"category {c}" for c in sorted(set(first), key=lambda found: (-first.count(found), first.index(found)))
    )
    assert winners(names, table) == [f"category {found}" for found in first]


def test_of_equal_confidence_the_smallest_category_counts(tmp_path: Path) -> None:
    # Documents 10 and 20 list their two best in either order, 30 a smaller category of less confidence.
    categories = "document_id,category_id,confidence_level\n10,8,0.4\n10,5,0.4\n10,9,0.4\n20,6,0.3\n20,7,0.3\n"
    categories += "30,1,0.2\n30,4,0.25\n30,2,0.1\n"
    names, table = clicks.outbrain(outbrain_files(tmp_path, categories=categories), arms=3)
    assert winners(names, table) == [f"category {({5: 5, 6: 6, 7: 4})[found]}" for found in NAMED]


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    moved = "clicked,note,ad_id\n" + "".join(f"1,x,{ad}\n" for ad in CLICKED)
    categories = "confidence_level,category_id,document_id\n0.9,5,10\n0.5,6,20\n0.07,7,30\n"
    names, table = clicks.outbrain(outbrain_files(tmp_path, moved, categories=categories), arms=3)
    assert winners(names, table) == [f"category {found}" for found in NAMED]


@pytest.mark.parametrize("name", ["clicks_train.csv", "promoted_content.csv", "documents_categories.csv"])
def test_a_missing_or_empty_file_is_named(name: str, tmp_path: Path) -> None:
    outbrain_files(tmp_path)
    (tmp_path / name).write_text("")
    with pytest.raises(DataError, match=rf"{name} is empty$"):
        clicks.outbrain(tmp_path)
    (tmp_path / name).write_bytes(b"\xff\xfe,a\n")
    with pytest.raises(DataError, match=rf"{name} cannot be read: "):
        clicks.outbrain(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=rf"^there is no file .*{name}$"):
        clicks.outbrain(tmp_path)


@pytest.mark.parametrize("column", ["ad_id", "clicked", "document_id", "category_id", "confidence_level"])
def test_a_missing_column_is_named(column: str, tmp_path: Path) -> None:
    folder = outbrain_files(tmp_path)
    for file in folder.iterdir():
        file.write_text(file.read_text().replace(column, "other"))
    with pytest.raises(DataError, match=rf"\.csv has no column '{column}'; needed: "):
        clicks.outbrain(folder)


BROKEN: list[tuple[dict[str, str], str]] = [
    (
        {"train": "display_id,ad_id,clicked\n1,1,1\n1,x,0\n"},
        r"clicks_train\.csv, row 3, column ad_id: 'x' is not a whole number of at least 0$",
    ),
    (
        {"train": "display_id,ad_id,clicked\n1,1,yes\n"},
        r"clicks_train\.csv, row 2, column clicked: 'yes' is not 0 or 1$",
    ),
    ({"train": "display_id,ad_id,clicked\n1,1,1\n2,3\n"}, r"clicks_train\.csv, row 3: 2 cells for 3 columns$"),
    (
        {"train": "display_id,ad_id,clicked\n1,,1\n"},
        r"clicks_train\.csv, row 2, column ad_id: '' is not a whole number",
    ),
    (
        {"content": "ad_id,document_id\n1,10\n2,ten\n"},
        r"promoted_content\.csv, row 3, column document_id: 'ten' is not a whole",
    ),
    (
        {"categories": "document_id,category_id,confidence_level\n10,5,0.9\n20,6,0.5\n30,7,?\n"},
        r"documents_categories\.csv, row 4, column confidence_level: '\?' is not a finite number$",
    ),
    ({"train": 'display_id,ad_id,clicked\n1,"1,1\n'}, r"clicks_train\.csv, row 2: 2 cells for 3 columns$"),
]


@pytest.mark.parametrize(("files", "message"), BROKEN)
def test_a_broken_row_is_named(files: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        clicks.outbrain(outbrain_files(tmp_path, **files))


@pytest.mark.parametrize(
    ("files", "row"),
    [
        ({"train": "display_id,ad_id,clicked\n1,1,1\n2,inf,1\n"}, "row 3"),
        ({"categories": "document_id,category_id,confidence_level\ninf,5,0.9\n"}, "row 2"),
        ({"content": "ad_id,document_id\n1,inf\n"}, "row 2"),
    ],
)
def test_numbers_without_end_are_broken_too(files: dict[str, str], row: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=row):
        clicks.outbrain(outbrain_files(tmp_path, **files))


def test_rows_count_as_in_the_file(tmp_path: Path) -> None:
    train = "display_id,ad_id,clicked\n1,1,1\n\n\n2,x,1\n"
    with pytest.raises(DataError, match="row 5, column ad_id: 'x'"):
        clicks.outbrain(outbrain_files(tmp_path, train))


def test_too_few_categories(tmp_path: Path) -> None:
    folder = outbrain_files(tmp_path)
    with pytest.raises(DataError, match=r"^the clicks in .* are on 3 categories, fewer than arms = 4$"):
        clicks.outbrain(folder, arms=4)
    with pytest.raises(DataError, match=r"are on 2 categories, fewer than arms = 3$"):
        clicks.outbrain(folder, arms=3, rows=2)
    outbrain_files(tmp_path, "display_id,ad_id,clicked\n")
    with pytest.raises(DataError, match=r"are on 0 categories, fewer than arms = 2$"):
        clicks.outbrain(folder, arms=2)


@pytest.mark.parametrize("wrong", [{"arms": 0}, {"rows": 0}, {"rows": 1.5}])
def test_wrong_sizes_of_a_log(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match=r"^(arms|rows) must be (at least 1|a whole number), got "):
        clicks.outbrain(outbrain_files(tmp_path), **wrong)


# --- coupons ----------------------------------------------------------------------------------------------------------

# A week whose days are known: 1 March 2012 was a Thursday; 2012 was a leap year.
VISITS = [
    ("2012-03-01 00:00:00", "Thursday"),
    ("2012-02-29 23:59:59", "Wednesday"),
    ("2011-12-31 12:00:00", "Saturday"),
    ("2012-01-01 00:00:00", "Sunday"),
    ("2012-03-05 08:30:00", "Monday"),
    ("2012-03-06 08:30:00", "Tuesday"),
    ("2012-03-02 08:30:00", "Friday"),
]
HEADER = (
    "PURCHASE_FLG,I_DATE,PAGE_SERIAL,REFERRER_hash,VIEW_COUPON_ID_hash,USER_ID_hash,SESSION_ID_hash,PURCHASEID_hash"
)


def visits(folder: Path, dates: list[str]) -> Path:
    path = folder / "coupon_visit_train.csv"
    path.write_text("\n".join([HEADER, *(f"0,{date},7,r,c,u,s," for date in dates)]) + "\n")
    return path


def test_the_weekday_of_every_visit(tmp_path: Path) -> None:
    names, table = clicks.coupons(visits(tmp_path, [date for date, _ in VISITS]))
    assert names == ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    assert winners(names, table) == [day for _, day in VISITS]  # in the order of the file


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 100])
def test_only_the_first_visits_are_read(rows: int, tmp_path: Path) -> None:
    path = visits(tmp_path, [date for date, _ in VISITS] + (["soon"] if rows < 100 else []))
    names, table = clicks.coupons(str(path), rows)
    assert winners(names, table) == [day for _, day in VISITS[:rows]]


@pytest.mark.parametrize("date", ["soon", "2012-02-30 00:00:00", "2012-03-28", "28/03/2012 14:15:00", ""])
def test_a_visit_without_a_date_is_named(date: str, tmp_path: Path) -> None:
    path = visits(tmp_path, [VISITS[0][0], VISITS[1][0], date, VISITS[2][0]])
    shown = repr(date) if date else ".*"
    with pytest.raises(
        DataError,
        match=rf"coupon_visit_train\.csv, row 4, column I_DATE: {shown} is not a date such as 2012-03-28 14:1",
    ):
        clicks.coupons(path)


def test_visits_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^there is no file .*nowhere\.csv$"):
        clicks.coupons(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="cannot be read: "):
        clicks.coupons(tmp_path)
    path = tmp_path / "visits.csv"
    path.write_text("")
    with pytest.raises(DataError, match=r"visits\.csv is empty$"):
        clicks.coupons(path)
    path.write_text("PURCHASE_FLG,DATE\n0,2012-03-28 14:15:00\n")
    with pytest.raises(DataError, match=r"visits\.csv has no column 'I_DATE'; needed: I_DATE$"):
        clicks.coupons(path)
    with pytest.raises(EvenhandError, match=r"^rows must be at least 1, got 0$"):
        clicks.coupons(path, rows=0)


def test_a_log_without_visits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"coupon_visit_train\.csv holds no visits$"):
        clicks.coupons(visits(tmp_path, []))


def test_the_logs_are_environments(tmp_path: Path) -> None:
    for names, table in (
        clicks.outbrain(outbrain_files(tmp_path), arms=3),
        clicks.coupons(visits(tmp_path, [date for date, _ in VISITS])),
    ):
        world = Environment(Table(table), names=names)
        assert world.names == names
        assert world.means.tolist() == table.mean(axis=0).tolist()
        check_environment(world, horizon=len(table))


# --- made-up tables ---------------------------------------------------------------------------------------------------


def softmax(arms: int) -> Array:
    """Chances of the first step: logarithms in steps of 0.3."""
    chances = np.exp(-0.3 * np.arange(arms))
    return np.asarray(chances / chances.sum())


@pytest.mark.parametrize(("rounds", "arms"), [(1, 2), (50, 2), (300, 7), (300, 30)])
def test_one_arm_pays_in_every_step(rounds: int, arms: int) -> None:
    table = clicks.synthetic(rounds, arms, seed=3)
    assert table.shape == (rounds, arms)
    assert winners(tuple(map(str, range(arms))), table)
    check_environment(Environment(Table(table)), horizon=min(rounds, 60))


def test_a_seed_is_a_table() -> None:
    table = clicks.synthetic(500, 7, seed=1)
    assert (clicks.synthetic(500, 7, seed=1) == table).all()
    assert (clicks.synthetic(500, 7, seed=2) != table).any()
    assert (clicks.synthetic(500, 7, seed=1, drift=0.5) != table).any()
    assert (clicks.synthetic(500, 7, seed=1, burst=3.0) != table).any()


@pytest.mark.parametrize("arms", [2, 7])
@pytest.mark.parametrize("burst", [1.0, 4.0, 20.0])
def test_bursts_last_as_long_as_asked_for(burst: float, arms: int) -> None:
    # Without drift an arm is drawn anew with chance b = 1/burst a step, from the same softmax p. A change is seen where
    # the new arm is another: with chance q = 1 − Σ p² a draw, and neighbouring draws have the covariance
    # c = Σ p (1 − p)² − q². The number of draws is binomial.
    steps = 60_000
    winner = clicks.synthetic(steps, arms, seed=5, drift=0.0, burst=burst).argmax(axis=1)
    p, b, n = softmax(arms), 1.0 / burst, steps - 1
    q = 1.0 - (p**2).sum()
    c = (p * (1 - p) ** 2).sum() - q**2
    variance = n * b * (q * (1 - q) + 2 * abs(c)) + n * b * (1 - b) * q**2
    assert abs(np.count_nonzero(np.diff(winner)) - n * b * q) <= SIGMAS * math.sqrt(variance)


@pytest.mark.parametrize("burst", [1.0, 10.0])
def test_without_drift_arms_pay_by_their_chances(burst: float) -> None:
    # A burst of mean length B makes a mean of n steps as uncertain as one of n/(2 B − 1) steps: its correlation
    # after k steps is (1 − 1/B)^k.
    steps, p = 60_000, softmax(7)
    shares = clicks.synthetic(steps, 7, seed=6, drift=0.0, burst=burst).mean(axis=0)
    error = np.sqrt(p * (1 - p) * (2 * burst - 1) / steps)
    assert (np.abs(shares - p) <= SIGMAS * error).all()


def test_drift_moves_the_chances() -> None:
    # In the last tenth of each of 400 tables the logarithms of two arms differ by 0.3 and a walk of standard deviation
    # 0.2 sqrt(2 · 90…100), about 2.8: the first arm beats the second with chance Φ(0.3/2.8) = 0.54, and not always.
    ahead = []
    for seed in range(400):
        shares = clicks.synthetic(100, 2, seed, drift=0.2, burst=1.0)[90:].mean(axis=0)
        ahead.append(0.5 + 0.5 * np.sign(shares[0] - shares[1]))
    assert abs(np.mean(ahead) - 0.54) <= SIGMAS * 0.5 / math.sqrt(400)
    # One arm is far ahead in many more tables than without drift; two frequencies differ by chance by up to
    # 1/sqrt(2 · 400) in standard error.
    decided = [abs(float(clicks.synthetic(100, 2, s, 0.2, 1.0)[90:, 0].mean()) - 0.5) >= 0.3 for s in range(400)]
    still = [abs(float(clicks.synthetic(100, 2, s, 0.0, 1.0)[90:, 0].mean()) - 0.5) >= 0.3 for s in range(400)]
    # Ten draws at p = 0.574 are at least 8 or at most 2 to one side with chance 0.144.
    assert abs(np.mean(still) - 0.144) <= SIGMAS * math.sqrt(0.144 * 0.856 / 400)
    assert np.mean(decided) - np.mean(still) > SIGMAS / math.sqrt(2 * 400)


def test_an_arm_is_best_in_hindsight() -> None:
    # In steps of 0.3 the first of seven arms has a chance of 0.295, the second 0.218: over 20 000 steps in bursts of 20
    # (standard error 0.02) it is first or near it.
    table = clicks.synthetic(20_000, 7, seed=0, drift=0.0)
    assert table.mean(axis=0).argmax() == 0
    assert softmax(7)[:2].round(3).tolist() == [0.295, 0.219]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rounds": 0}, "^rounds must be at least 1, got 0$"),
        ({"arms": 1}, "^arms must be at least 2, got 1$"),
        ({"seed": -1}, "^seed must be at least 0, got -1$"),
        ({"seed": 0.5}, r"^seed must be a whole number, got 0\.5$"),
        ({"drift": -0.1}, r"^drift must be a number of at least 0, got -0\.1$"),
        ({"drift": math.nan}, "^drift must be a number of at least 0, got nan$"),
        ({"burst": 0.5}, r"^burst must be a number of at least 1, got 0\.5$"),
    ],
)
def test_wrong_tables_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        clicks.synthetic(**({"rounds": 10, "arms": 3} | wrong))
