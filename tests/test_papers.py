"""The papers' experiments: every configuration can be run."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from evenhand import compare, config
from evenhand.availability import Always
from evenhand.papers import PAPERS

CONFIGURATIONS = sorted(Path(str(files("evenhand.papers"))).glob("*/*.toml"))
EXPERIMENTS = ["f1-", "f2-", "f4-", "f5-", "h1-h3", "h2-h4", "h5", "h6-h7", "p2a", "p2b", "p2c"]


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_configuration_runs_at_a_small_size(path: Path) -> None:
    assert path.parent.name in PAPERS
    setup = config.load(path, horizon=None, lanes=2)
    results = compare(setup.policies, setup.environment, horizon=60, lanes=2, seed=setup.seed, checkpoints=3)
    assert list(results.records) == list(setup.policies)
    always = isinstance(setup.environment.availability, Always)
    for label, policy in setup.policies.items():
        plays = results.records[label].pulls[-1].sum(axis=-1)
        assert (plays <= 60 * policy.plays).all()
        assert (plays == 60 * policy.plays).all() or not always


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_no_experiment_is_missing(experiment: str) -> None:
    assert any(path.stem.startswith(experiment) for path in CONFIGURATIONS)


@pytest.mark.parametrize("key", PAPERS)
def test_every_paper_has_its_bibtex_entry(key: str) -> None:
    entry = PAPERS[key].bibtex()
    assert entry.startswith("@")
    assert f"{{{key}," in entry
    assert entry.count("{") == entry.count("}")
    year = entry.split("year", 1)[1].split("{", 1)[1][:4]
    assert year in key
    assert year in PAPERS[key].citation
