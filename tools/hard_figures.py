"""Draw every figure of the package from input that is hard to draw, to be looked at: ``hard_figures.py FOLDER``.

Identical curves, a policy that dwarfs the others, 40 and 200 arms, twelve policies, one lane, names of 60 letters in
four scripts. A warning is an error. Texts that overlap or leave the page are listed, and the exit status is then 1.
Each case has a contact sheet, ``contact-CASE.png``.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image, ImageDraw

from evenhand import figures
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.delays import ByReward, Fixed, Geometric, PacketLoss, Pareto
from evenhand.environment.feedback import FeedbackModel
from evenhand.feedback import Decreasing
from evenhand.simulation.results import Results
from evenhand.simulation.tables import PolicyResult

NAMES = (
    "The Extraordinarily Long and Winding Road to the Cinema, 1987",
    "とても長い題名の映画、第二部、東京の夜明けと忘れられた約束についての物語、完全版、特別編集、字幕付き、劇場公開版",
    "سرد طويل جدا عن الوعود التي لم يتم الوفاء بها في المدينة القديمة",
    "סיפור ארוך מאוד על הבטחות שלא קוימו בעיר העתיקה ועל דרך הביתה",
    "price: $5 _and_ $6 \\alpha <b>&amp;</b> \u202egnp.exe",
)
TITLE = "A title with quite many words, which is about what the policies did to their arms in the end"
WIDTHS = ("", "text", "column")
CELL = (460, 340)  # pixels of a picture on a contact sheet

Drawing = Callable[[str], Figure]  # takes the width


def main(folder: Path) -> int:
    """Draw everything into the folder; 1 if texts overlap or leave the page."""
    warnings.simplefilter("error")
    folder.mkdir(parents=True, exist_ok=True)
    faults = 0
    for case, drawings in cases().items():
        pictures = []
        for (kind, draw), width in itertools.product(drawings.items(), WIDTHS):
            name = "-".join(filter(None, (kind, case, width)))
            figure = draw(width)
            figures.save(figure, folder / name, formats=("png",))
            pictures.append(folder / f"{name}.png")
            for one, other in overlaps(figure):
                print(f"{name}: {one!r} overlaps {other!r}")
                faults += 1
        contact_sheet(pictures, folder / f"contact-{case}.png")
        print(f"wrote {folder / f'contact-{case}.png'}")
    return int(faults > 0)


def cases() -> dict[str, dict[str, Drawing]]:
    """The drawings of each kind of hard input."""
    models: dict[str, FeedbackModel] = {
        NAMES[0]: Fixed(30),
        NAMES[1]: Geometric(0.05),
        NAMES[2]: Pareto(0.5),
        NAMES[3]: PacketLoss(0.6),
    }
    models |= {"same": Geometric(0.05), "parts": Decreasing(50), "lost": PacketLoss(0.0)}
    by_arm = {"by reward": ByReward([[0, 1000], [1000, 0]])}
    return {
        "names": kinds_of(made(5, 4)),
        "40": kinds_of(made(40, 3)),
        "200": kinds_of(made(200, 3)),
        "policies": kinds_of(made(5, 12)),
        "one-lane": kinds_of(made(3, 2, lanes=1)),
        "models": {
            "delays": lambda width: figures.delays(models, width=width, title=TITLE),
            "delays-of-arms": lambda width: figures.delays(by_arm, means=[0.3, 0.8], width=width),
        },
    }


def kinds_of(results: Results) -> dict[str, Drawing]:
    """Every figure of the results."""
    bounds = {label: 5.0 * np.sqrt(results.rounds) for label in list(results.policies)[:2]}

    def drawing(draw: Callable[..., Figure], *arguments: Any, **options: Any) -> Drawing:
        return lambda width: draw(results, *arguments, width=width, **options)

    return {
        "curves": drawing(figures.curves, "regret", title=TITLE, bounds=bounds),
        "curves-log": drawing(figures.curves, "regret", log="xy", band="lanes"),
        "fractions": drawing(figures.fractions, title=TITLE),
        "overview": drawing(figures.overview, title=TITLE),
        "shares-over-time": drawing(figures.shares_over_time, title=TITLE),
        "arms-over-time": drawing(figures.arms_over_time, title=TITLE),
        "spread-over-lanes": drawing(figures.spread_over_lanes, "regret", title=TITLE),
        "paired-differences": drawing(figures.paired_differences, "regret", title=TITLE),
        "frontier": drawing(figures.frontier, title=TITLE),
    }


def made(arms: int, policies: int, lanes: int = 6, checkpoints: int = 30) -> Results:
    """Results that no simulation would give: the first two policies are identical, the last one dwarfs all others.

    Args:
        arms: number of arms.
        policies: at least 2.
        lanes: number of lanes.
        checkpoints: number of checkpoints.
    """
    rng = np.random.default_rng(1)
    rounds = np.linspace(1000, 1_000_000, checkpoints).astype(np.int64)
    weights = np.sort(rng.random(arms) ** 3 + 0.02)[::-1]
    found = {}
    for place in range(policies):
        label = NAMES[place] if place < len(NAMES) else f"grid eta={place / 10:g}"
        twin = max(place, 1)
        own = np.random.default_rng(twin)
        height = 200.0 if place == policies - 1 else 1.0 + 0.1 * twin
        regret = height * (np.sqrt(rounds)[:, None] + 20.0 * own.normal(size=(checkpoints, lanes)).cumsum(axis=0))
        shares = weights ** (1.0 + 0.3 * twin) * own.uniform(0.9, 1.1, (lanes, arms))
        shares /= shares.sum(axis=1, keepdims=True)
        pulls = (rounds[:, None, None] * shares).astype(np.int32)
        curves = {"reward": 0.6 * rounds[:, None] - regret, "regret": regret, "unfairness": np.abs(regret) / 3.0}
        found[label] = PolicyResult(pulls, curves, shares, shares)
    names = tuple(NAMES[arm] if arm < len(NAMES) else f"arm number {arm + 1}" for arm in range(arms))
    promised: dict[str, Array | None] = {label: np.full(arms, 0.6 / arms) for label in found}
    return Results(found, rounds, names, promised, {"horizon": int(rounds[-1]), "lanes": lanes, "seed": 1})


def contact_sheet(pictures: list[Path], path: Path) -> None:
    """All pictures on one sheet, each with its name below."""
    across = 2 * len(WIDTHS)
    wide, high = CELL
    sheet = Image.new("RGB", (across * wide, -(-len(pictures) // across) * high), "white")
    for place, picture in enumerate(pictures):
        left, top = place % across * wide, place // across * high
        with Image.open(picture) as opened:
            opened.thumbnail((wide - 12, high - 24))
            sheet.paste(opened.convert("RGB"), (left, top + 16))
        ImageDraw.Draw(sheet).text((left, top), picture.stem, fill="black")
    sheet.save(path)


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts of a figure that lie on each other, and texts with ``(the edge)`` that reach beyond the page."""
    figure.draw_without_rendering()
    shown = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    found = [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(shown, 2)
        if meets(a.padded(-0.5), b.padded(-0.5))
    ]
    page = figure.bbox.padded(2.0)
    return found + [(one, "(the edge)") for one, box in shown if not inside(box, page)]


def texts(figure: Figure) -> list[Text]:
    """The texts of a figure that can be seen."""
    found: list[Any] = [text for legend in figure.legends for text in legend.get_texts()]
    found += figure.texts
    for axes in figure.axes:
        found += [axes.xaxis.label, axes.yaxis.label]
        found += [child for child in axes.get_children() if isinstance(child, Text)]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [text for text in dict.fromkeys(found) if text.get_visible() and text.get_text().strip()]


def meets(one: Bbox, other: Bbox) -> bool:
    """Whether two boxes share more than an edge."""
    return bool(one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1)


def inside(box: Bbox, page: Bbox) -> bool:
    """Whether a box is on the page."""
    return bool(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="Folder for the pictures.")
    try:
        sys.exit(main(parser.parse_args().folder))
    except EvenhandError as error:
        sys.exit(str(error))
