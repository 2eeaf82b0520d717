"""``evenhand algorithms``: lists the algorithms, or shows one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument

from evenhand.cli.options import AsJson, Import, algorithm_names
from evenhand.cli.output import note, print_json

if TYPE_CHECKING:
    from evenhand.algorithms.registry import Algorithm


def algorithms(
    # name of an algorithm, to show it in full
    name: Annotated[str | None, Argument(autocompletion=algorithm_names)] = None,
    # only those that promise this: a minimum share of the rounds to each arm, a share in proportion to merit, shares to
    # groups of arms, a reward per round to each arm, or nothing
    promise: Literal["share", "merit", "group", "reward", "none"] | None = None,
    # only those made for this: rewards that arrive late, delays that depend on the reward, sums that name no arm, or
    # means that change
    feedback: Literal["delayed", "dependent", "anonymous", "changing"] | None = None,
    features: bool = False,  # only those that go by features
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """List the algorithms by promise, or show one: equation, promise, parameters, citation and BibTeX.

    Examples:
        evenhand algorithms
        evenhand algorithms fucb
        evenhand algorithms --promise merit --feedback dependent
        evenhand algorithms --features
        evenhand algorithms --import mine.py
        evenhand algorithms --json
    """
    from evenhand.algorithms import find
    from evenhand.algorithms.properties import feedback_of, promise_of
    from evenhand.algorithms.registry import algorithms as all_algorithms

    if name:
        chosen = [find(name)]
    else:
        chosen = [
            entry
            for entry in all_algorithms().values()
            if promise in (None, promise_of(entry))
            and (feedback is None or feedback in feedback_of(entry))
            and (not features or entry.example().contextual)
        ]
    if as_json:
        print_json(as_plain(chosen[0]) if name else [as_plain(entry) for entry in chosen])
        return
    from evenhand.cli.rendering import show_algorithm, show_algorithms

    if name:
        show_algorithm(chosen[0])
    elif chosen:
        show_algorithms(chosen, feedback)
    else:
        asked = {f"the promise {promise!r}": promise, f"{feedback!r} feedback": feedback, "features": features}
        note(f"no algorithm is for {' and '.join(text for text, one in asked.items() if one)}; leave out one of them")


def as_plain(entry: Algorithm) -> dict[str, Any]:
    """An algorithm as plain JSON values."""
    from evenhand.algorithms.properties import feedback_of, promise_of

    help_of = entry.parameter_help()
    parameters = [
        {
            "name": name,
            "required": parameter.default is parameter.empty,
            "default": None if parameter.default is parameter.empty else parameter.default,
            "help": help_of.get(name, ""),
        }
        for name, parameter in entry.parameters.items()
    ]
    return {
        "name": entry.name,
        "summary": entry.summary,
        "equation": entry.equation,
        "promise": entry.promise,
        "promises": promise_of(entry),
        "made_for": feedback_of(entry),
        "parameters": parameters,
        "source": entry.source,
        "bound": entry.bound.text if entry.bound else None,
        "citation": entry.paper.citation if entry.paper else None,
        "bibtex": entry.paper.bibtex() if entry.paper else None,
    }
