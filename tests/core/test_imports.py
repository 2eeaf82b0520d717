"""Modules that the user names: loaded once, and what is wrong with one is said."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from evenhand import Policy
from evenhand.core.errors import ConfigurationError
from evenhand.core.imports import import_object, import_source
from evenhand.core.parts import build

SOURCE = """
import numpy as np
from attrs import frozen
from evenhand.core.parts import part
from evenhand.policy.index import Index

@part("index", "{kind}")
@frozen
class Half(Index):
    def score(self, state, observation, rng):
        return np.full(state.tally.pulls.shape, 0.5)
"""


def test_a_file_registers_its_parts(tmp_path: Path) -> None:
    (tmp_path / "my_parts_of_a_test.py").write_text(SOURCE.format(kind="half_of_a_file"))
    module = import_source("my_parts_of_a_test.py", tmp_path)
    assert import_source("my_parts_of_a_test", tmp_path) is module  # by its name, and loaded once
    half = build("index", "half_of_a_file")
    assert import_object("my_parts_of_a_test:Half", tmp_path) is type(half)
    assert pickle.loads(pickle.dumps(half)) == half
    assert Policy(half).start(2).round == 0
    with pytest.raises(ConfigurationError, match=r"^module 'my_parts_of_a_test' has no 'Hlf'; did you mean 'Half'\?$"):
        import_object("my_parts_of_a_test:Hlf", tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none_of_a_test.py", None, r"^there is no file .*none_of_a_test\.py$"),
        ("none_of_a_test", None, r"^there is no module 'none_of_a_test', and no file .*none_of_a_test\.py$"),
        ("syntax_of_a_test.py", "def f(:", r"^syntax_of_a_test\.py cannot be loaded: SyntaxError: "),
        ("error_of_a_test.py", "1 / 0", r"^error_of_a_test\.py cannot be loaded: ZeroDivisionError: division by zero$"),
        ("lost_of_a_test.py", "import nowhere_at_all", r"^lost_of_a_test\.py cannot be loaded: No module named"),
    ],
)
def test_files_that_cannot_be_loaded(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        import_source(name, tmp_path)
    assert Path(name).stem not in sys.modules


def test_a_module_may_import_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("VALUE = 7\n")
    (tmp_path / "beside_it_too.py").write_text("from beside_it import VALUE\n")
    assert import_source("beside_it_too.py", tmp_path).VALUE == 7
    (tmp_path / "beside_it_three.py").write_text("import beside_it_none\n")
    with pytest.raises(ConfigurationError, match="cannot be loaded: No module named 'beside_it_none'"):
        import_source("beside_it_three", tmp_path)
