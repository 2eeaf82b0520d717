"""A run as an animation, for talks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.simulation.figures.arms import policy_in, promised_by
from evenhand.simulation.figures.style import COLOURS, finish, new_figure, plain
from evenhand.simulation.results import Results

ENDINGS = {".gif": "pillow", ".mp4": "ffmpeg"}


def animate(
    results: Results, path: str | os.PathLike[str], label: str | None = None, *, seconds: float = 8.0, title: str = ""
) -> Path:
    """Write an animation of a run: the share of each arm, round after round, against its promise.

    Args:
        results: of a simulation with at least two checkpoints; each is a frame, of many every n-th.
        path: of the file, ``.gif``, or ``.mp4`` where ffmpeg is installed.
        label: of the policy; None for the first.
        seconds: how long it lasts.
        title: above the figure.

    Returns:
        The path.

    Raises:
        EvenhandError: there is no such policy or format, or ffmpeg is not installed.

    Example:
        >>> import pathlib, tempfile
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.environment.world import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> world = Environment(Bernoulli([0.8, 0.2]))
        >>> results = simulate(fucb(0.2), world, horizon=20, lanes=4, checkpoints=4)
        >>> animate(results, pathlib.Path(tempfile.mkdtemp()) / "run.gif").suffix
        '.gif'
    """
    from matplotlib import animation

    path = Path(path)
    if path.suffix not in ENDINGS:
        raise EvenhandError(f"an animation is written as .gif or .mp4, got {path.name!r}")
    if not animation.writers.is_available(ENDINGS[path.suffix]):
        raise EvenhandError("ffmpeg, which writes .mp4, is not installed: write a .gif")
    label = policy_in(results, label)
    shares = results.policies[label].pulls.mean(axis=1) / results.rounds[:, None]
    promised = promised_by(results, label)
    frames = np.unique(np.linspace(0, len(shares) - 1, min(len(shares), 120)).astype(int))
    figure, (axes,) = new_figure([])
    figure.set_figheight(max(2.6, 1.2 + 0.3 * len(results.names)))
    rows = np.arange(len(results.names))
    bars = axes.barh(rows, shares[0], color=COLOURS[0])
    if promised is not None:
        axes.vlines(promised, rows - 0.45, rows + 0.45, color="black", linewidth=1.8)
    axes.set_yticks(rows, [plain(name, 28) for name in results.names])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0.0, min(1.0, 1.05 * float(shares[len(shares) // 4 :].max())))
    axes.set_xlabel("share of the rounds so far; black: promised")
    finish(figure, [axes], title, f"{plain(label)}, round {results.rounds[0]:,}")

    def draw(frame: int) -> list[Any]:
        for bar, share in zip(bars, shares[frame], strict=True):
            bar.set_width(share)
        axes.set_title(f"{plain(label)}, round {results.rounds[frame]:,}", fontsize=8, color="#555555", loc="left")
        return [*bars]

    film = animation.FuncAnimation(figure, draw, frames=frames.tolist())
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        film.save(part, writer=ENDINGS[path.suffix], fps=max(1, round(len(frames) / seconds)), dpi=110)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
