"""``evenhand simulate`` and ``evenhand check``: run a configuration, or only validate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from typer import Option

from evenhand.cli.options import AsJson, ConfigPath, Horizon, Import, Jobs, Lanes, Out, Seed
from evenhand.cli.output import Interrupted, note, print_json
from evenhand.core.errors import EvenhandError, InfeasiblePromise, nearest

if TYPE_CHECKING:
    from evenhand.policy.composition import Policy
    from evenhand.simulation.results import Results
    from evenhand.simulation.setup import Setup
    from evenhand.simulation.stages import Draft
    from evenhand.theory.baseline import Baseline


Figures: TypeAlias = Literal["main", "all", "none"]


def check(config: ConfigPath, own: Import = None, as_json: AsJson = False) -> None:
    """Validate a configuration or a study and report whether its promises can be kept, without running it.

    Examples:
        evenhand check films.toml
        evenhand check study.toml
        evenhand check films.toml --json
    """
    from evenhand.cli.sweep import show_plan
    from evenhand.simulation.simulate import check_can_run, checkpoint_rounds
    from evenhand.simulation.stages import drafts_of
    from evenhand.studies.faults import toml
    from evenhand.studies.plan import plan
    from evenhand.studies.study import Study

    if config.suffix != ".parquet":
        with toml(config) as data:
            is_study = "sweep" in data
        if is_study:
            show_plan(plan(Study.load(config)), config, as_json)
            return
    setup = _setup(config)
    check_can_run(setup.environment, setup.policies, setup.horizon, setup.lanes)
    checkpoint_rounds(setup.horizon, setup.checkpoints, setup.spacing)
    policies: dict[str, dict[str, Any]] = {}
    for label, first in setup.policies.items():
        for draft in drafts_of(first, setup.environment, setup.promises, label):
            name = f"{label} from round {draft.page.after + 1}" if draft.page.after else label
            try:
                facts = _feasibility(draft.checked(label, setup.lanes).baseline)
                policies[name] = facts | _bounds(draft.policy, setup.environment.names) | _within(draft)
                policies[name] |= _arrears(draft.policy, facts, setup)
            except InfeasiblePromise as error:
                policies[name] = {"feasible": False, "fault": str(error)}
    if as_json:
        size = {"horizon": setup.horizon, "lanes": setup.lanes, "arms": list(setup.environment.names)}
        print_json({**size, "policies": policies})
    else:
        from evenhand.cli.rendering import show_feasibility

        show_feasibility(setup.environment.names, policies)
    faults = [facts["fault"] for facts in policies.values() if not facts["feasible"]]
    if faults:
        raise InfeasiblePromise("\n".join(f"{config}: {fault}" for fault in dict.fromkeys(faults)))


def simulate(
    config: ConfigPath,
    seed: Seed = None,
    lanes: Lanes = None,
    horizon: Horizon = None,
    jobs: Jobs = 1,
    out: Out = Path("results"),
    own: Import = None,
    as_json: AsJson = False,
    figures: Figures = "main",  # the overview and the figure of what was lost, those of all measures, or none
    wide: bool = False,  # print every arm and measure, with standard errors
    # print the paired differences of the other policies to this one
    against: Annotated[str | None, Option(metavar="LABEL")] = None,
    # Size and letters of figures, for a screen or a paper. Default: the configuration
    width: Literal["screen", "column", "text"] | None = None,
) -> None:
    """Run a simulation, report which policies kept their promises, and write results and figures.

    Pass a .parquet file of earlier results instead of a configuration to run the same simulation again.

    Examples:
        evenhand simulate films.toml
        evenhand simulate films.toml --lanes 500 --jobs 2 --out runs/films
        evenhand simulate films.toml --against Thompson --wide
        evenhand simulate films.toml --figures all --width column
        evenhand simulate results/curves.parquet --seed 2 --json
    """
    from dataclasses import replace

    from attrs import evolve

    from evenhand.core.files import alone_in, check_folder

    setup = _setup(config, seed=seed, lanes=lanes, horizon=horizon)
    if against is not None and against not in setup.policies:
        raise EvenhandError(f"--against: there is no policy {against!r}{nearest(against, setup.policies)}")
    if width is not None:
        setup = evolve(setup, figures=replace(setup.figures, width="" if width == "screen" else width))
    check_folder(out)
    try:
        with alone_in(out):
            _run(setup, jobs, out, as_json, figures, wide, against)
    except InfeasiblePromise as error:
        raise InfeasiblePromise(f"{config}: {error}") from None


def _run(setup: Setup, jobs: int, out: Path, as_json: bool, figures: Figures, wide: bool, against: str | None) -> None:
    """Run a setup, write the results, and print them."""
    from evenhand.cli.results import show_results
    from evenhand.simulation.simulate import run_setup

    try:
        results = run_setup(setup, jobs=jobs)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(f"{interrupt}; nothing was written") from None
    # Saved before anything is printed, since the reader of the output may stop reading.
    fault = None
    try:
        written = _save(results, setup, out, figures)
    except OSError as error:
        fault = EvenhandError(f"the results could not be written to {out}: {error}; the existing files are complete")
    if as_json:
        print_json(_as_json(results, against))
    else:
        show_results(results, wide, against)
    if fault:
        raise fault
    note(f"wrote {', '.join(written)} to {out}")


def _as_json(results: Results, against: str | None) -> dict[str, Any]:
    from attrs import asdict

    from evenhand.simulation.files import without_infinities
    from evenhand.simulation.verdicts import differences, verdicts

    found = {label: verdict.to_json() for label, verdict in verdicts(results).items()}
    values = {**results.to_json(), "verdicts": found}
    if against is not None:
        rows = [asdict(one) for one in differences(results, against)]
        values |= {"against": against, "differences": without_infinities(rows)}
    return values


def _setup(config: Path, **overrides: int | None) -> Setup:
    if config.suffix == ".parquet":
        from evenhand.simulation.setup import read_setup

        return read_setup(config, **overrides)
    from evenhand.studies import configuration

    return configuration.load(config, **overrides)


def _feasibility(baseline: Baseline) -> dict[str, Any]:
    """What a policy promises, and what a prophet would earn per round, on average over the lanes."""
    promised, fair = baseline.promised, None if baseline.by_merit else baseline.best_fair
    if baseline.by_merit and promised is not None and not baseline.sleeping:
        fair = (promised * baseline.gains).sum(axis=-1)
    facts = {
        "feasible": True,
        "promised": None if promised is None else promised.reshape(-1, promised.shape[-1]).mean(axis=0).tolist(),
        "by_merit": baseline.by_merit,
        "best_reward_per_round": None if baseline.best is None else float(baseline.best.mean()),
    }
    return facts if fair is None else facts | {"best_fair_reward_per_round": float(fair.mean())}


def _bounds(policy: Policy, names: Sequence[str]) -> dict[str, Any]:
    """The caps of arms and the promises to groups, where a policy has any."""
    import numpy as np

    facts: dict[str, Any] = {}
    if policy.caps is not None and np.any(policy.caps < 1.0):
        caps = np.atleast_2d(policy.caps).mean(axis=0)
        facts["caps"] = np.broadcast_to(caps, len(names)).tolist()
    if policy.groups:
        facts["groups"] = [{**group, "arms": [names[arm] for arm in group["arms"]]} for group in policy.groups]
    return facts


def _within(draft: Draft) -> dict[str, Any]:
    """The shares that are promised in segments, by segment and arm."""
    shares, partition, names = draft.page.within, draft.environment.partition, draft.environment.names
    if shares is None or partition is None:
        return {}
    rows = {
        segment: {name: share for name, share in zip(names, row, strict=True) if share}
        for segment, row in zip(partition.names, shares.tolist(), strict=True)
    }
    return {"segments": {segment: row for segment, row in rows.items() if row}}


def _arrears(policy: Policy, facts: Mapping[str, Any], setup: Setup) -> dict[str, Any]:
    """How a policy keeps its promises, and what a parameter allows it to owe at the horizon."""
    import numpy as np

    from evenhand.judgement.judge import judge
    from evenhand.judgement.keeping import keeping_of
    from evenhand.judgement.sentences import forecast

    shares = [share for share in facts["promised"] or [] if share > 0.0]
    if not shares:
        return {}
    keeping = keeping_of(policy, setup.environment.arms, setup.horizon)
    allowed, due = keeping.owed_at_most(setup.horizon), np.array([min(shares) * setup.horizon])
    found = judge(keeping, due, np.maximum(due - allowed, 0.0), setup.horizon)[0]
    text = forecast(found, setup.horizon) if found.parameter else ""
    return {"keeps": keeping.keeps, "owed_at_most": allowed, "arrears": text}


def _save(results: Results, setup: Setup, out: Path, figures: Figures) -> list[str]:
    """Write results and figures; the names of the files."""
    before = _figures_of(out)
    results.save(out)
    for path in before:
        path.unlink(missing_ok=True)
    names = [f"{name}.parquet" for name in ("curves", "arms", "estimates", "segments")]
    names = [name for name in names if (out / name).exists()]
    drawn = [] if figures == "none" else _draw(results, setup, out, every=figures == "all")
    _write_page(results, out, [f"{name}.{setup.figures.formats[0]}" for name in drawn])
    first, *others = setup.figures.formats
    also = [f"and each as {' and '.join(f'.{one}' for one in others)}"] if others and drawn else []
    return [*names, "index.html", *(f"{name}.{first}" for name in drawn), *also]


def _write_page(results: Results, out: Path, files: Sequence[str]) -> None:
    """A page about the run: verdicts, figures, and every measure at the horizon."""
    from evenhand.cli.rendering import plus_minus
    from evenhand.core import html
    from evenhand.core.files import write_text

    final = results.final()
    rows = [
        [measure.axis, *(plus_minus(**found[name]) if name in found else "" for found in final.values())]
        for name, measure in results.measures.items()
    ]
    tables = {"Measures at the horizon": html.table(["mean ± standard error", *final], rows)}
    sentences = [one.text for one in results.verdicts.values()]
    write_text(out / "index.html", html.report(", ".join(final), results.size, sentences, tables, files))


def _figures_of(folder: Path) -> list[Path]:
    """The figures of an earlier run in the folder, which would be taken for those of this one."""
    from evenhand.simulation.figures.files import FORMATS, KINDS, file_names
    from evenhand.simulation.files import read_table
    from evenhand.simulation.measures import MEASURES

    try:
        information = read_table(folder / "curves.parquet")[0]
        measures, policies = [*MEASURES, *information["own"]], list(information["policies"])
    except (EvenhandError, KeyError):
        return []
    names = [name for kind in KINDS for name in file_names(kind, measures, policies)]
    return [folder / f"{name}.{end}" for name in names for end in FORMATS]


def _draw(results: Results, setup: Setup, folder: Path, every: bool) -> list[str]:
    """Draw the figures of every measure, or of what was lost, into the folder; their names."""
    from evenhand.simulation.figures.files import draw_all
    from evenhand.simulation.figures.lines import bounds_of
    from evenhand.simulation.verdicts import gap_measure

    asked, kinds = setup.figures, setup.figures.kinds + (("shares",) if every else ())
    drawn = asked.bounds and not setup.promises  # theorems are about promises that do not change
    bounds = bounds_of(setup.policies, setup.environment, results.rounds) if drawn else {}
    style: dict[str, Any] = {"band": asked.band, "width": asked.width, "formats": asked.formats, "kinds": kinds}
    measures = None if every else [gap_measure(results.measures)]
    return draw_all(results, folder, bounds, asked.log, asked.title, measures=measures, **style)
