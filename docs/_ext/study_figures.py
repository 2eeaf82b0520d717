"""Figures of the study of 2,000 settings in ``examples/study.toml``; about two minutes on two cores."""

from __future__ import annotations

import sys
from pathlib import Path

from evenhand import figures, sweep
from evenhand.studies.figures import frontier, heatmap, lines

STUDY = Path(__file__).parents[2] / "examples" / "study.toml"


def main(folder: Path) -> None:
    """Run the study and draw missing plays over η, regret over arms and delay, and reward against missing plays."""
    folder.mkdir(parents=True, exist_ok=True)
    results = sweep(STUDY, jobs=-1, progress=False)
    figures.save(lines(results, "unfairness", "eta"), folder / "study_lines")
    figures.save(heatmap(results, "regret", "arms", "success"), folder / "study_heatmap")
    figures.save(frontier(results, "eta"), folder / "study_frontier")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
