"""The list of algorithms: each is a function with a docstring, and the docstring is the one source of what is told
about it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from evenhand.papers import PAPERS, Paper
from evenhand.policy import Policy

F = TypeVar("F", bound=Callable[..., Policy])


@dataclass(frozen=True)
class Algorithm:
    """A published algorithm: a function from its parameters to a policy.

    Attributes:
        name: its name in configurations.
        build: the function.
        paper: where it was published.
    """

    name: str
    build: Callable[..., Policy]
    paper: Paper

    @property
    def summary(self) -> str:
        """One line of what it is."""
        return self._sections()[0]

    @property
    def equation(self) -> str:
        """Its rule."""
        return " ".join(self._sections()[1].replace("``", "").split())

    @property
    def promise(self) -> str:
        """What it promises to the arms."""
        return self._labelled("Promise")

    @property
    def source(self) -> str:
        """Paper, section, equation."""
        return self._labelled("Source")

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its parameters by name."""
        return dict(inspect.signature(self.build).parameters)

    def parameter_help(self) -> dict[str, str]:
        """What each parameter is, from the docstring."""
        text = self._labelled("Args", keep_lines=True)
        found = re.findall(r"^(\w+): (.+?)(?=^\w+: |\Z)", text, flags=re.MULTILINE | re.DOTALL)
        return {name: " ".join(words.split()) for name, words in found}

    def _sections(self) -> list[str]:
        return (inspect.getdoc(self.build) or "").split("\n\n")

    def _labelled(self, label: str, keep_lines: bool = False) -> str:
        for section in self._sections():
            if section.startswith(f"{label}:"):
                text = inspect.cleandoc(section.removeprefix(f"{label}:"))
                return text if keep_lines else " ".join(text.split())
        return ""


ALGORITHMS: dict[str, Algorithm] = {}


def algorithm(paper: str) -> Callable[[F], F]:
    """Enter a function into the list of algorithms, under its own name."""

    def enter(build: F) -> F:
        ALGORITHMS[build.__name__] = Algorithm(build.__name__, build, PAPERS[paper])
        return build

    return enter
