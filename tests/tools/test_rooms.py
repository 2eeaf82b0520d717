"""The check of who asks for the class of a part finds every way to ask, and lets annotations and calls pass."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rooms", TOOLS / "rooms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROOMS = loaded()
CLASSES = ROOMS.classes_of_parts(ROOMS.SOURCE)
HEAD = "from evenhand.policy.virtual_queue import Queue, VirtualQueue\nfrom evenhand import policy\n"
ASKING = [
    "isinstance(x, Queue)",
    "isinstance(x, int | VirtualQueue)",
    "issubclass(x, policy.VirtualQueue)",
    "type(x) is Queue",
    "type(x) in (Queue, int)",
    "x.__class__ == VirtualQueue",
    "y is Queue",
    "{Queue: 1}",
    "match x:\n    case Queue():\n        pass",
    "type(x).__name__ in ('Mean', 'Exploring')",
]
FREE = [
    "VirtualQueue(0.1, 1.0)",
    "def f(x: Queue) -> VirtualQueue: ...",
    "isinstance(x, str)",
    "print(type(x).__name__)",
]


def found(folder: Path, room: str, text: str) -> list[str]:
    path = folder / room / "module.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD + text + "\n")
    return list(ROOMS.faults(path, folder, CLASSES))


@pytest.mark.parametrize("text", ASKING)
def test_asking_is_found_outside_the_rooms_of_the_parts(tmp_path: Path, text: str) -> None:
    assert len(found(tmp_path, "bandit", text)) == 1
    assert not found(tmp_path, "policy", text)


@pytest.mark.parametrize("text", FREE)
def test_to_construct_and_to_annotate_is_free(tmp_path: Path, text: str) -> None:
    assert not found(tmp_path, "bandit", text)


@pytest.mark.slow
def test_nobody_asks() -> None:
    """As `nox -s lint` says."""
    assert ROOMS.main([]) == 0
