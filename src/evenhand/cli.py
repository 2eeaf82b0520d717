"""The command ``evenhand``."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from evenhand import __version__
from evenhand.errors import EvenhandError, InfeasiblePromise, StateError
from evenhand.online import clienting
from evenhand.online.service import command as service

if TYPE_CHECKING:
    from evenhand.config import Setup
    from evenhand.metrics import Yardstick
    from evenhand.online.store import Store
    from evenhand.results import Results

app = typer.Typer(
    name="evenhand",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Fair sequential decisions: policies that keep promises to every arm, simulated and compared.",
)
app.command()(service.serve)
app.add_typer(service.keys, name="keys")
app.add_typer(clienting.app, name="client")

#: What the extras of the package bring.
EXTRAS = {
    "service": (
        *(
            "alembic",
            "fastapi",
            "fastapi_offline",
            "httpx",
            "orjson",
            "prometheus_client",
            "sqlalchemy",
            "tenacity",
            "uvicorn",
        ),
    ),
    "postgresql": ("psycopg",),
}

ConfigPath = Annotated[
    Path,
    typer.Argument(metavar="CONFIG.toml", help="Configuration file, or a .parquet file of earlier results."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of all randomness.")]
Lanes = Annotated[int | None, typer.Option(min=1, help="Independent replications.")]
Horizon = Annotated[int | None, typer.Option(min=1, help="Rounds.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 takes every core. The results do not depend on it.")]
Out = Annotated[Path, typer.Option(help="Folder for results and figures; made if it is missing.")]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Machine-readable output on standard output, all else on standard error."),
]


def main() -> None:
    """Run the command; every error is a line on standard error, never a traceback."""
    try:
        app()
    except EvenhandError as error:
        _fail(str(error), 2)
    except ModuleNotFoundError as error:
        _fail(f"{error.name} is not installed; pip install 'evenhand[{_extra(error.name)}]'", 2)
    except MemoryError as error:
        _fail(f"not enough memory: {error or 'the run is too large'}; ask for fewer lanes or checkpoints", 2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _extra(module: str | None) -> str:
    """The extra of the package that brings a module; not to know one is a bug of ours."""
    top = (module or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if top in modules:
            return extra
    raise ModuleNotFoundError(name=module)


def _fail(message: str, status: int) -> NoReturn:
    print(f"evenhand: {message}", file=sys.stderr)
    sys.exit(status)


def _version(value: bool) -> None:
    if value:
        print(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def algorithms(
    name: Annotated[str | None, typer.Argument(help="One algorithm, in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the algorithms; with a name: equation, parameters, promise, citation and BibTeX.

    Examples:

      evenhand algorithms

      evenhand algorithms fucb

      evenhand algorithms --json
    """
    from evenhand import listing
    from evenhand.algorithms import find
    from evenhand.registry import ALGORITHMS

    if as_json:
        chosen = [find(name)] if name else list(ALGORITHMS.values())
        told = [listing.as_plain(entry) for entry in chosen]
        _print_json(told[0] if name else told)
    elif name:
        listing.print_one(find(name))
    else:
        listing.print_all(list(ALGORITHMS.values()))


@app.command()
def check(config: ConfigPath, as_json: AsJson = False) -> None:
    """Validate a configuration and say whether its promises can be kept, without running it.

    Examples:

      evenhand check films.toml

      evenhand check films.toml --json
    """
    from evenhand.metrics import yardstick
    from evenhand.simulation import checkpoint_rounds

    setup = _setup(config)
    setup.environment.check_horizon(setup.horizon)
    checkpoint_rounds(setup.horizon, setup.checkpoints, setup.spacing)
    told: dict[str, dict[str, Any]] = {}
    for label, policy in setup.policies.items():
        try:
            told[label] = _facts(yardstick(policy, setup.environment, label))
        except InfeasiblePromise as error:
            told[label] = {"feasible": False, "fault": str(error)}
    if as_json:
        size = {"horizon": setup.horizon, "lanes": setup.lanes, "arms": list(setup.environment.names)}
        _print_json({**size, "policies": told})
    else:
        from evenhand import listing

        listing.print_feasible(setup.environment.names, told)
    faults = [facts["fault"] for facts in told.values() if not facts["feasible"]]
    if faults:
        raise InfeasiblePromise("\n".join(f"{config}: {fault}" for fault in dict.fromkeys(faults)))


@app.command()
def simulate(
    config: ConfigPath,
    seed: Seed = None,
    lanes: Lanes = None,
    horizon: Horizon = None,
    jobs: Jobs = 1,
    out: Out = Path("results"),
    as_json: AsJson = False,
    plots: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the figures.")] = True,
) -> None:
    """Run the policies of a configuration; print a table, write results and figures to a folder.

    A .parquet file of earlier results runs again what made it.

    Examples:

      evenhand simulate films.toml

      evenhand simulate films.toml --lanes 500 --jobs 2 --out runs/films

      evenhand simulate results/curves.parquet --seed 2 --json
    """
    setup = _setup(config, seed=seed, lanes=lanes, horizon=horizon)
    try:
        _run(setup, jobs, out, as_json, plots)
    except InfeasiblePromise as error:
        raise InfeasiblePromise(f"{config}: {error}") from None


@app.command()
def replay(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of a MovieLens copy (ratings.csv, movies.csv); left out: figures that ship with Evenhand."
        ),
    ] = None,
    film: Annotated[list[str] | None, typer.Option(help="Title as in movies.csv, or film id; repeat for more.")] = None,
    plays: Annotated[int, typer.Option(min=1, help="Films recommended to a user, m.")] = 2,
    fraction: Annotated[
        list[float] | None,
        typer.Option(help="Promised share of the rounds: one for all films, or one each. Left out: 0.3."),
    ] = None,
    algorithm: Annotated[
        list[str] | None, typer.Option(help="Algorithm to run; repeat for more. Left out: tscsf_b and lfg.")
    ] = None,
    eta: Annotated[
        list[float] | None,
        typer.Option(help="η of LFG and TSCSF-B; repeat for more. Left out: sqrt(KT/(m ln T)) and inf."),
    ] = None,
    order: Annotated[
        str, typer.Option(help="'log': users as in the file; 'shuffled': each lane in an order of its own.")
    ] = "log",
    seed: Seed = 0,
    lanes: Lanes = 100,
    horizon: Horizon = None,
    jobs: Jobs = 1,
    out: Out = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Recommend films on real ratings: the experiment of Huang et al. 2020, section 6.3.

    Every user who rated at least one of the films is a round, the films that the user rated are available, the reward
    is the rating divided by 5.

    Examples:

      evenhand replay

      evenhand replay ~/ml-20m --lanes 20 --jobs 2

      evenhand replay ~/ml-latest-small --film "Heat (1995)" --film 260 --plays 1 --fraction 0.2 --algorithm fucb
    """
    from evenhand import replaying

    setup = replaying.setup(
        folder,
        films=film,
        plays=plays,
        fractions=fraction or [0.3],
        algorithms=algorithm or ["tscsf_b", "lfg"],
        etas=eta,
        order=order,
        horizon=horizon,
        lanes=lanes or 100,
        seed=seed or 0,
    )
    results = _run(setup, jobs, out, as_json, plots=True, extra=replaying.ratings)
    if not as_json:
        replaying.print_ratings(results, setup)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT]...",
            help="Ids such as C-1, papers such as huang2020, or all. Left out: list them.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer lanes and rounds than the papers'.")] = False,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="File or folder of real data: MovieLens, Outbrain, Coupon, a conversion log; repeat for more."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 takes every core. The results do not depend on it.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for results, figures and the report.")] = Path("reproduction"),
    again: Annotated[bool, typer.Option("--again", help="Run also what has been run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the papers' experiments again: figures, and a verdict on every claim, in one report.

    What has been run is kept and not run again; interrupted work goes on where it stopped.

    Examples:

      evenhand reproduce

      evenhand reproduce C-1 H-2

      evenhand reproduce all --quick

      evenhand reproduce huang2020 --data ~/ml-latest-small
    """
    from evenhand.reproduction import command

    place = command.store(out, quick, data or [], jobs, again)
    if not names:
        command.show(place, as_json)
        return
    try:
        command.run(names, place, as_json)
    except KeyboardInterrupt as interrupt:
        _fail(f"{interrupt}; what was finished is kept, the same command goes on from there", 130)


@app.command()
def evaluate(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV or Parquet file with a row for every play.")],
    shares: Annotated[
        str | None,
        typer.Option(
            help="Evaluate fixed shares: 'uniform', 'a=0.2,b=0.8', or a .json file with the share of each item."
        ),
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Evaluate an algorithm that learns from the log as it goes.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Parameter of the algorithm, as in a configuration; repeat for more."
        ),
    ] = None,
    clip: Annotated[float | None, typer.Option(help="Largest weight. Left out: no limit.")] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="Plays without a reward: 'zero' counts 0, 'drop' leaves them out. Left out: refuse them."),
    ] = None,
    by_position: Annotated[bool, typer.Option("--by-position", help="Also for each position by itself.")] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Every row is a round, also where a decision has several.")
    ] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NAME", help="What a column is called in the file, such as reward=bought; repeat for more."
        ),
    ] = None,
    seed: Seed = 0,
    lanes: Annotated[
        int | None, typer.Option(min=1, help="Draws of an algorithm that has no closed form. Left out: 100.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate from a log what another policy would earn a round, and whom it would play.

    By inverse propensity scores (IPS), self-normalised (SNIPS) and doubly robust (DR), with 95 % intervals.

    Examples:

      evenhand evaluate log.csv --shares uniform

      evenhand evaluate log.parquet --shares tea=0.2,coffee=0.8 --missing zero

      evenhand evaluate log.csv --algorithm fucb --set fractions=0.01 --json
    """
    from evenhand.online import evaluating
    from evenhand.online.logfile import read_log

    target = evaluating.chosen(shares, algorithm, set_ or [], seed or 0, lanes)
    read = read_log(log, evaluating.columns(column or []), missing, "row" if rows else "decision")
    found = evaluating.estimated(read, target, clip, by_position)
    if as_json:
        _print_json(evaluating.as_plain(str(log), found))
    else:
        evaluating.show(str(log), found)


@app.command()
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the allocation.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="To write; ends in .csv or .parquet.")],
    database: service.Database = "evenhand.db",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate propensities that have no closed form; replays every event.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the log of an allocation to a file, a row for every play, as `evenhand evaluate` reads it.

    Examples:

      evenhand export drinks drinks.parquet

      evenhand export drinks drinks.csv --database postgresql://evenhand@localhost/evenhand --estimate
    """
    from evenhand.online.store.export import write_log

    with _store(database) as store:
        rows = write_log(store.database, name, file, estimate)
    if as_json:
        _print_json({"rows": rows, "file": str(file)})
    else:
        print(f"wrote {rows:,} rows to {file}", file=sys.stderr)


@app.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Allocations; left out: all.")] = None,
    database: service.Database = "evenhand.db",
    as_json: AsJson = False,
) -> None:
    """Make allocations again from their events alone, and see that the same comes out.

    Examples:

      evenhand verify

      evenhand verify drinks --database evenhand.db --json
    """
    with _store(database) as store:
        wanted = names or [one.name for one in store.allocations()]
        found, faults = {}, []
        for name in wanted:
            try:
                found[name] = store.verify(name)
            except StateError as fault:
                faults.append(str(fault))
    if as_json:
        _print_json({"verified": found, "faults": faults})
    else:
        for name, events in found.items():
            print(f"{name}: {events:,} events, replayed to the same state")
    if faults:
        raise StateError("\n".join(faults))


def _store(database: str) -> closing[Store]:
    """A database that is there already."""
    from evenhand.online.store import Store

    return closing(Store.open(database, new=False))


def _facts(stick: Yardstick) -> dict[str, Any]:
    """What a policy promises, and what a prophet would earn."""
    promised, fair = stick.promised, None if stick.by_merit else stick.best_fair
    if stick.by_merit and promised is not None and not stick.sleeping:
        fair = (promised * stick.worth).sum(axis=-1)
    facts = {
        "feasible": True,
        "promised": None if promised is None else _mean_rows(promised),
        "by_merit": stick.by_merit,
        "best_reward_a_round": float(stick.best.mean()),
    }
    return facts if fair is None else facts | {"best_fair_reward_a_round": float(fair.mean())}


def _setup(config: Path, **overrides: int | None) -> Setup:
    from evenhand import config as configuration
    from evenhand import rerun

    return rerun.load(config, **overrides) if config.suffix == ".parquet" else configuration.load(config, **overrides)


def _run(setup: Setup, jobs: int, out: Path, as_json: bool, plots: bool, extra: Any = None) -> Results:
    from evenhand import listing
    from evenhand.results import check_folder
    from evenhand.simulation import compare

    check_folder(out)
    size = setup.horizon, setup.lanes, setup.seed
    try:
        results = compare(
            setup.policies,
            setup.environment,
            *size,
            checkpoints=setup.checkpoints,
            spacing=setup.spacing,
            jobs=jobs,
        )
    except KeyboardInterrupt as interrupt:
        _fail(f"{interrupt}; nothing was written", 130)
    # Saved before anything is printed, as whoever reads the output may stop reading; printed also if saving fails.
    told, failed = _saved(results, setup, out, plots)
    if as_json:
        _print_json(results.to_json() | ({} if extra is None else extra(results, setup)))
    else:
        listing.print_results(results)
    if failed:
        raise EvenhandError(told)
    print(told, file=sys.stderr)
    return results


def _saved(results: Results, setup: Setup, out: Path, plots: bool) -> tuple[str, bool]:
    """Write results and figures; what to tell of it, and whether it failed."""
    from evenhand import listing

    try:
        results.save(out)
        written = ["curves.parquet", "arms.parquet", "estimates.parquet"]
        if plots:
            written += listing.draw(results, setup, out)
    except OSError as error:
        return f"the results could not be written to {out}: {error}; the files that are there are whole", True
    return f"wrote {', '.join(written)} to {out}", False


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _mean_rows(values: Any) -> list[float]:
    return [float(value) for value in (values if values.ndim == 1 else values.mean(axis=0))]


if __name__ == "__main__":
    main()
