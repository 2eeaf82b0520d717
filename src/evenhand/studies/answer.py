"""What a sweep answers: which choices kept their promises, which of them earned most, and which axis matters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.algorithms.build import short
from evenhand.core.state import Array
from evenhand.inference.means import mean_and_error, mean_and_reach, student
from evenhand.judgement.judge import VERDICTS
from evenhand.judgement.sentences import in_settings, listed
from evenhand.simulation.verdicts import main_measures

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.studies.tables import SweepTables
    from evenhand.studies.units import Unit

MOST = 12  # drawn values of an axis that are compared one by one; more numbers in groups
GROUPS = 5


@dataclass(frozen=True, eq=False)
class _Played:
    """A choice (a policy with its values) in a world (the values of all other axes)."""

    choice: tuple[tuple[str, str], ...]
    world: tuple[str, ...]
    verdict: str  # on all of its promises together; empty where there are none
    reward: Array  # per round, (lanes,)


def choices(results: SweepTables) -> pd.DataFrame:
    """A row for each policy with its values of the axes, as `SweepResults.choices` describes it."""
    import pandas as pd

    worlds: dict[tuple[str, ...], dict[Any, _Played]] = {}
    played = _played(results)
    wanted = "kept" if any(one.verdict for one in played) else ""  # who promises nothing is no rival of who does
    for one in played:
        worlds.setdefault(one.world, {})[one.choice] = one
    ranks = [_ranked([one for one in found.values() if one.verdict == wanted]) for found in worlds.values()]
    found_choices = dict.fromkeys(one.choice for found in worlds.values() for one in found.values())
    rows = []
    for choice in found_choices:
        own = [found[choice] for found in worlds.values() if choice in found]
        gaps = [rank[choice] for rank in ranks if choice in rank]
        mean, reach = _pooled([gap for gap, _ in gaps])
        counts: dict[str, Any] = {verdict: sum(one.verdict == verdict for one in own) for verdict in VERDICTS}
        best = {"best": sum(not gap.any() for gap, _ in gaps), "close": sum(close for _, close in gaps)}
        ends = {"behind": mean, "low": mean - reach, "high": mean + reach}
        reward = float(np.mean([one.reward.mean() for one in own]))
        counts |= {"settings": len(own), "reward": reward, "worlds": len(worlds)}
        rows.append(dict(choice) | counts | best | ends)
    columns = list(dict.fromkeys(name for choice in found_choices for name, _ in choice)) or ["policy"]
    columns += ["settings", *VERDICTS, "reward", "worlds", "best", "close", "behind", "low", "high"]
    table, order = pd.DataFrame(rows).reindex(columns=columns), ["best", "close", "kept", "reward"]
    return table.sort_values(order, ascending=False, kind="stable", ignore_index=True) if rows else table


def _played(results: SweepTables) -> list[_Played]:
    verdicts, found = results.verdicts, []
    for unit, result in results.finished:
        reward = result.policy.curves["reward"][-1] / result.results.rounds[-1]
        choice = (("policy", unit.label), *own_values(results, unit))
        found.append(_Played(choice, world_of(results, unit), verdicts[unit.setting.number, unit.label], reward))
    return found


def own_values(results: SweepTables, unit: Unit) -> list[tuple[str, str]]:
    """The values of the axes that concern a policy; none where settings are drawn, which no other policy has again."""
    axes = results.study.concerned.items() if results.study.mode != "random" else ()
    values = unit.setting.values
    return [(name, short(values[name])) for name, labels in axes if unit.label in labels and name in values]


def world_of(results: SweepTables, unit: Unit) -> tuple[str, ...]:
    """What all policies of a setting have in common: the values of the axes that concern none of them."""
    if results.study.mode == "random":
        return (str(unit.setting.number),)
    values = unit.setting.values
    return tuple(short(values.get(name, "")) for name, labels in results.study.concerned.items() if not labels)


def _ranked(kept: Sequence[_Played]) -> dict[Any, tuple[Array, bool]]:
    """How far behind the best of them each is, (lanes,), and whether that may be chance."""
    if not kept:
        return {}
    best = max(kept, key=lambda one: float(one.reward.mean()))
    ranked = {}
    for one in kept:
        gap = best.reward - one.reward
        mean, reach = mean_and_reach(gap)
        ranked[one.choice] = gap, not mean > np.nan_to_num(reach)
    return ranked


def effects(results: SweepTables, measure: str) -> pd.DataFrame:
    """How far a measure moves along each axis, as `SweepResults.effects` describes it."""
    import pandas as pd

    rows = []
    for axis in results.axes if results.study.mode != "paired" and not results.study.listed else []:
        levels = _levels(results, axis, measure)
        if len(levels) < 2:
            continue
        means = {name: float(np.mean([one.mean() for one in curves])) for name, curves in levels.items()}
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        pairs = len(levels) * (len(levels) - 1) // 2
        reach = _reach(levels[low], levels[high], 1.0 - 0.05 / pairs, results.study.mode == "random")
        difference = means[high] - means[low]
        ends = {"lowest_at": low, "lowest": means[low], "highest_at": high, "highest": means[high]}
        interval = {"difference": difference, "low": difference - reach, "high": difference + reach}
        rows.append({"axis": axis} | ends | interval)
    columns = ["axis", "lowest_at", "lowest", "highest_at", "highest", "difference", "low", "high"]
    return pd.DataFrame(rows, columns=columns).sort_values("difference", ascending=False, ignore_index=True)


def _levels(results: SweepTables, axis: str, measure: str) -> dict[str, list[Array]]:
    """The measure of every unit that an axis concerns, (lanes,), by its value; many numbers are taken in groups."""
    labels = results.study.concerned[axis]
    found: dict[Any, list[Array]] = {}
    for unit, result in results.finished:
        if (not labels or unit.label in labels) and measure in result.policy.curves and axis in unit.setting.values:
            value = unit.setting.values[axis]
            found.setdefault(value if isinstance(value, int | float) else short(value), []).append(
                result.policy.curves[measure][-1]
            )
    numbers = all(isinstance(value, int | float) for value in found)
    if results.study.mode != "random" or len(found) <= MOST or not numbers:
        return {short(value): curves for value, curves in found.items()}
    groups = np.array_split(np.array(sorted(found)), GROUPS)
    return {f"{group[0]:.3g}–{group[-1]:.3g}": [curve for value in group for curve in found[value]] for group in groups}


def _reach(one: Sequence[Array], other: Sequence[Array], confidence: float, drawn: bool) -> float:
    """Half the interval of the difference of two means."""
    if not drawn and len({len(curve) for curve in (*one, *other)}) == 1:
        return float(mean_and_reach(np.mean(other, axis=0) - np.mean(one, axis=0), confidence)[1])
    errors = [float(mean_and_error(np.array([curve.mean() for curve in part]))[1]) for part in (one, other)]
    return student(min(len(one), len(other)), confidence) * float(math.hypot(*errors))


def _pooled(curves: Sequence[Array]) -> tuple[float, float]:
    """The mean of several means over lanes, and half its interval: lane by lane where they are as many."""
    if not curves:
        return np.nan, np.nan
    if len({len(one) for one in curves}) == 1:
        mean, reach = mean_and_reach(np.mean(curves, axis=0))
        return float(mean), float(reach)
    reaches = [float(mean_and_reach(one)[1]) for one in curves]
    return float(np.mean([one.mean() for one in curves])), float(np.linalg.norm(reaches)) / len(curves)


def less_than_best(results: SweepTables, measure: str = "reward") -> pd.DataFrame:
    """`SweepTables.last` of a measure less that of the unit with most of it in the same world, lane by lane."""
    rows = results.last(measure)
    curves = [(world_of(results, unit), result.policy.curves.get(measure)) for unit, result in results.finished]
    best: dict[Any, Array] = {}
    for world, curve in curves:
        if curve is not None and (world not in best or curve[-1].mean() > best[world].mean()):
            best[world] = curve[-1]
    gaps = [mean_and_error(curve[-1] - best[world]) for world, curve in curves if curve is not None]
    means, errors = (np.array(part, dtype=float) for part in zip(*gaps, strict=True))
    return rows.assign(mean=means, stderr=errors)


def sentences(results: SweepTables, found: pd.DataFrame) -> list[str]:
    """The answer in words: what each policy kept, who is best, and which axis matters."""
    if found.empty:
        return ["Nothing is finished yet."]
    text = []
    for label in dict.fromkeys(unit.label for unit, _ in results.finished):
        group = found[found["policy"] == label]
        counts = (int(group[name].sum()) for name in VERDICTS)
        variants = f"; it has {len(group):,} variants" if len(group) > 1 else ""
        text.append(f"{label} {in_settings(*counts)}{variants}.")
    return [*text, _best(results, found), *_axes(results)]


def named(results: SweepTables, row: Mapping[Any, object]) -> str:
    """A choice in words: its policy, with its values of the axes."""
    values = [
        f"{results.study.symbol(name)} = {row[name]}"
        for name, labels in results.study.concerned.items()
        if row["policy"] in labels and row.get(name) == row.get(name) is not None
    ]
    return f"{row['policy']} with {listed(values)}" if values else str(row["policy"])


def _best(results: SweepTables, found: pd.DataFrame) -> str:
    first, others = found.iloc[0].to_dict(), found.iloc[1:]
    promised = int(found[list(VERDICTS)].to_numpy().sum())
    among = "Of those that surely kept all promises" if promised else "Of all"
    if not first["best"]:
        return "Nothing surely kept all of its promises, so there is no best of those that did."
    name, worlds = named(results, first), first["worlds"]
    if worlds > 1:
        of = listed([results.study.title(axis) for axis, labels in results.study.concerned.items() if not labels])
        of = "one a setting" if results.study.mode == "random" else of
        near = f"is within noise of the best in {first['close']:,}"
        return f"{among}, {name} earned most in {first['best']:,} of {worlds:,} worlds ({of}), and {near}."
    close = int(others["close"].sum())
    noise = f"; {close:,} more {'is' if close == 1 else 'are'} within noise of it" if close else ""
    return f"{among}, {name} earned most: {first['reward']:.4g} per round{noise}."


def _axes(results: SweepTables) -> list[str]:
    """Which axis matters most, measure by measure, and which are within noise."""
    text = []
    for measure in main_measures(results.measures):
        rows = effects(results, measure)
        sure = rows[rows["low"] > 0.0]
        if len(sure):
            first, label = sure.iloc[0], results.measure(measure).label
            low, high = (f"{_digits(first[end])} at {first[f'{end}_at']}" for end in ("lowest", "highest"))
            most = "matters most for" if len(rows) > 1 else "moves"
            text.append(f"{_capital(results.study.title(first['axis']))} {most} the {label}: from {low} to {high}.")
        noise = [results.study.title(axis) for axis in rows["axis"] if axis not in set(sure["axis"])]
        if noise:
            text.append(f"{_capital(listed(noise))}: within noise for the {results.measure(measure).label}.")
    return text


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text[:1].isascii() else text
