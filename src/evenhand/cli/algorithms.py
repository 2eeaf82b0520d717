"""``evenhand algorithms``: lists the algorithms, or shows one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import AsJson, Import
from evenhand.cli.output import print_json

if TYPE_CHECKING:
    from evenhand.algorithms.registry import Algorithm


def algorithms(
    name: Annotated[str | None, typer.Argument(help="Name of an algorithm, to show it in full.")] = None,
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """List the algorithms; with a name: equation, promise, parameters, citation and BibTeX.

    Examples:

      evenhand algorithms

      evenhand algorithms fucb

      evenhand algorithms --import mine.py

      evenhand algorithms --json
    """
    from evenhand.algorithms import find
    from evenhand.algorithms.registry import algorithms as all_algorithms

    if as_json:
        print_json(as_plain(find(name)) if name else [as_plain(entry) for entry in all_algorithms().values()])
        return
    from evenhand.cli.tables import show_algorithm, show_algorithms

    if name:
        show_algorithm(find(name))
    else:
        show_algorithms(list(all_algorithms().values()))


def as_plain(entry: Algorithm) -> dict[str, Any]:
    """An algorithm as plain JSON values.

    Args:
        entry: of the registry.

    Example:
        >>> from evenhand.algorithms import find
        >>> as_plain(find("ucb1"))["parameters"][0]["name"]
        'exploration'
    """
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
        "parameters": parameters,
        "source": entry.source,
        "bound": entry.bound.text if entry.bound else None,
        "citation": entry.paper.citation if entry.paper else None,
        "bibtex": entry.paper.bibtex() if entry.paper else None,
    }
