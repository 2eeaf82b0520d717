"""What an experiment of a paper is: its settings, its figure, and what the paper says it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from evenhand.core.errors import EvenhandError, nearest
from evenhand.judgement.claims import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenhand.simulation.results import Results
    from evenhand.simulation.setup import Setup

#: Papers with experiments, in the order of their letters, and what goes beyond them (X).
FOLDERS = ("patil2019", "huang2020", "fang2022", "chen2024", "wang2021", "beyond")


@dataclass(frozen=True, eq=False)
class CompletedRun:
    """A configuration that has been run."""

    results: Results  # of the simulation
    setup: Setup  # what was run
    # Processor times of each policy by its label, where the experiment is about time; else empty.
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)


#: The runs of an experiment by the name of their configuration.
Runs = Mapping[str, CompletedRun]
Given = ParamSpec("Given")
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class OfRuns(Generic[Found]):
    """A figure, or the test of a claim, with all that it depends on but the runs."""

    find: Callable[..., Found]
    given: tuple[Any, ...]
    options: Mapping[str, Any]

    def __call__(self, runs: Runs) -> Found:
        """What it finds in the runs."""
        return self.find(runs, *self.given, **self.options)


def of_runs(find: Callable[Concatenate[Runs, Given], Found]) -> Callable[Given, OfRuns[Found]]:
    """Settle all that a figure or the test of a claim depends on but the runs, which come later."""

    @wraps(find)
    def settled(*given: Given.args, **options: Given.kwargs) -> OfRuns[Found]:
        return OfRuns(find, given, options)

    return settled


@dataclass(frozen=True)
class PaperClaim:
    """Something that a paper says its experiment shows."""

    sentence: str  # the claim, in our words and as strong as the paper's
    source: str  # where the paper says it
    test: Callable[[Runs], Iterable[Finding]]  # measures it
    reading: str = ""  # how the test reads words that leave room, if they do
    missing: str = ""  # why it cannot be run here, for another reason than data; it is then listed and not measured


def ours(sentence: str, test: Callable[[Runs], Iterable[Finding]], reading: str = "") -> PaperClaim:
    """A claim that no paper makes."""
    return PaperClaim(sentence, "ours", test, reading)


@dataclass(frozen=True)
class ExperimentTable:
    """Numbers of an experiment, shown beside its figure."""

    title: str  # what the numbers are, with their unit
    columns: tuple[str, ...]  # names of the columns
    # For each row its name and per column the mean and its standard error; NaN where there is none.
    rows: Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True)
class QuickSize:
    """A reduced size."""

    lanes: int  # replications
    horizon: int | None = None  # rounds; None keeps those of the configuration


@dataclass(frozen=True)
class Data:
    """Real data that an experiment is about."""

    kind: str  # one of `evenhand.papers.data.KINDS`
    # Changes a configuration so that it runs on the user's file or folder; one that is not about these data stays as it
    # is.
    put: Callable[[dict[str, Any], Path], dict[str, Any]]
    instead: str  # what it runs on without one, in a sentence


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper."""

    id: str  # its name in ``evenhand reproduce``, such as ``"C-1"``
    title: str  # what it is about
    figure: str  # which figure of the paper it redraws
    setting: str  # what is run, in a few sentences
    parts: tuple[str, ...]  # names of its configurations, in the paper's folder
    claims: tuple[PaperClaim, ...]  # what the paper says about it
    draw: Callable[[Runs], Figure]  # the figure, in the paper's form
    quick: QuickSize | None = None  # the size of a quick run; None where the full size is quick enough
    choices: tuple[str, ...] = ()  # what the paper leaves open and how it was settled, a sentence each
    data: tuple[Data, ...] = ()  # the real data that it is about; each kind changes the configurations that it concerns
    timed: bool = False  # whether each policy is also run alone, some times, to take its time
    # Numbers to show beside the figure; None for none.
    tables: Callable[[Runs], Sequence[ExperimentTable]] | None = None

    @cached_property
    def paper(self) -> str:
        """The key of its paper; ``"beyond"`` for an experiment of no paper of the five."""
        if self.id[0] == "X":
            return "beyond"
        return next(key for key in FOLDERS if key[0].upper() == self.id[0])


def experiments() -> dict[str, Experiment]:
    """Every experiment by its id, paper by paper."""
    modules = (import_module(f"evenhand.papers.{folder}.settings") for folder in FOLDERS)
    return {one.id: one for module in modules for one in module.EXPERIMENTS}


def chosen(names: Sequence[str]) -> list[Experiment]:
    """The experiments that are meant by ids, a paper's key, or ``"all"``; each once, in the order of the papers."""
    known = experiments()
    wanted: set[str] = set()
    for name in names:
        found = {key for key, one in known.items() if name.lower() in (key.lower(), one.paper) or name == "all"}
        if not found:
            raise EvenhandError(f"there is no experiment {name!r}{nearest(name, [*known, *FOLDERS, 'all'])}")
        wanted |= found
    return [one for key, one in known.items() if key in wanted]
