"""``evenhand kinds``: the parts that a configuration can name."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument

from evenhand.cli.options import AsJson, Import
from evenhand.cli.output import print_json
from evenhand.core.errors import EvenhandError, nearest


def slots() -> list[str]:
    """The slots, for completion."""
    from evenhand.core.parts import HOMES

    return [slot for slot in HOMES if slot not in ("policy", "environment")]  # these consist of the others


def kinds(
    # such as index, rewards or feedback; default: all
    slot: Annotated[str | None, Argument(autocompletion=slots)] = None,
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """List the kinds of parts that a configuration can name, with their parameters.

    Examples:
        evenhand kinds
        evenhand kinds feedback
        evenhand kinds --import mine.py --json
    """
    if slot is not None and slot not in slots():
        raise EvenhandError(f"there is no slot {slot!r}{nearest(slot, slots())}")
    found = {name: _of(name) for name in ([slot] if slot else slots())}
    if as_json:
        print_json(found)
        return
    from evenhand.cli import rendering

    for name, entries in found.items():
        rows = []
        for one in entries:
            given = [f"{key} = {value}" if value is not None else key for key, value in one["parameters"].items()]
            rows.append((one["kind"], ", ".join(given), one["summary"]))
        rendering.console_for_tables().print(f"\n[bold]{name}[/bold]")
        rendering.show(rendering.table_of("kind", "parameters", "description", rows=rows))


def _of(slot: str) -> list[dict[str, Any]]:
    """The kinds of a slot: name, summary, and the default of each parameter as text; null where it is required."""
    import inspect

    from evenhand.core import parts

    def default(parameter: Any) -> str | None:
        value = parameter.default if parameter.made is None else "made by the part"
        return None if parameter.required else str(getattr(value, "__name__", value))

    return [
        {
            "kind": kind,
            "summary": " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split()),
            "parameters": {name: default(one) for name, one in parts.parameters_of(cls).items()},
        }
        for kind, cls in parts.kinds(slot).items()
    ]
