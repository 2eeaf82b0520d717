"""An install for `Bandit` brings NumPy, SciPy, attrs and pydantic; what else is missing is named with its extra."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import evenhand
from evenhand.core.extras import EXTRAS

BARE = ("annotated_types", "attr", "attrs", "numpy", "pydantic", "pydantic_core", "scipy", "typing_extensions")
LIBRARIES = ("numpy.libs", "scipy.libs", "typing_inspection")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of a bare install."""
    folder = tmp_path_factory.mktemp("bare")
    packages = Path(str(find_spec("numpy").origin)).parents[1]  # type: ignore[union-attr]
    for name in (*BARE, *LIBRARIES):
        for path in (packages / name, packages / f"{name}.py"):
            if path.exists():
                (folder / path.name).symlink_to(path)
    (folder / "evenhand").symlink_to(Path(str(evenhand.__file__)).parent)
    return folder


def run(bare: Path, *lines: str) -> str:
    code = "\n".join([f"import sys; sys.path.insert(0, {str(bare)!r})", *lines])
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr


def test_a_bandit_needs_no_extra(bare: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "drinks.json")
    got = run(
        bare,
        "from evenhand import Bandit",
        "bandit = Bandit(['tea', 'coffee'], 'fucb', fractions=[0.0, 0.2], window=60, missing='lost', seed=1)",
        "decision = bandit.decide()",
        "bandit.observe(decision.id, {decision.names[0]: 1.0})",
        "str(bandit.audit()), bandit.audit().to_json(), bandit.health()",
        "bandit.add('mate', fraction=0.1)",
        f"bandit.save({path!r})",
        f"bandit = Bandit.load({path!r})",
        "lease = bandit.lease(4)",
        "print(bandit.names, bandit.audit().round)",
    )
    assert got.startswith("('tea', 'coffee', 'mate') ")


@pytest.mark.parametrize(
    ("use", "package", "extra"),
    [
        (
            "eh.compare([eh.algorithms.ucb1()], eh.Environment(WINS), 4, 2).table()",
            "",
            "studies",
        ),
        ("eh.evaluation.read_log('log.csv')", "pandas", "studies"),
        ("eh.client.Client", "httpx", "client"),
        ("eh.service.Store", "", "service"),
        ("import evenhand.cli.main", "typer", "cli"),
    ],
)
def test_what_is_missing_is_named_with_its_extra(bare: Path, use: str, package: str, extra: str) -> None:
    got = run(bare, "import evenhand as eh", "WINS = eh.rewards.Bernoulli([0.5, 0.4])", use)
    assert f"{package} is not installed; the extra {extra!r} brings it: in a clone, pip install '.[{extra}]'" in got


def test_bandit_loads_numpy_and_attrs(bare: Path) -> None:
    got = run(bare, "from evenhand import Bandit", "print(*sys.modules)")
    assert not {"scipy", "pydantic", *EXTRAS} & set(got.split())


def test_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS.values()) <= set(project["optional-dependencies"])
    names = {one.partition(">=")[0].replace("-", "_") for one in project["dependencies"]}
    assert names == {"annotated_types", "attrs", "numpy", "pydantic", "scipy", "typing_extensions"}
