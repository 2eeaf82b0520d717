"""The files in deploy/ name only what there is: metrics, options, paths, files."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from evenhand import __version__
from evenhand.cli.main import app
from evenhand.service.http.metrics import Metrics

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
YAML = sorted(DEPLOY.rglob("*.yaml"))
CONTAINERFILE = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text()).splitlines()


def loaded(path: str) -> Any:
    """The content of a YAML file."""
    return yaml.safe_load((DEPLOY / path).read_text())


def instruction(name: str) -> list[str]:
    """What follows the name of an instruction of the Containerfile, for each that has it."""
    return [rest for first, _, rest in (line.strip().partition(" ") for line in CONTAINERFILE) if first == name]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of `evenhand` in the files, without the name of the program."""
    yield "Containerfile", json.loads(instruction("CMD")[0])
    (start,) = re.findall(r"^ExecStart=\S+/evenhand (.*)$", (DEPLOY / "evenhand.service").read_text(), re.MULTILINE)
    yield "evenhand.service", shlex.split(start)
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            for line in re.findall(r"`evenhand ([^`]*)`", path.read_text()):
                yield path.name, shlex.split(line)


def expressions() -> list[str]:
    """Every expression of the rules and of the board."""
    rules = [rule["expr"] for group in loaded("prometheus/rules.yaml")["groups"] for rule in group["rules"]]
    board = json.loads((DEPLOY / "grafana/dashboards/evenhand.json").read_text())
    panels = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return rules + panels + [variable["definition"] for variable in board["templating"]["list"]]


@pytest.mark.parametrize("path", YAML, ids=[path.name for path in YAML])
def test_yaml_parses(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_every_metric_exists_with_its_labels(drinks_metrics: Callable[[], str]) -> None:
    samples = re.findall(r"^(evenhand_\w+)(?:\{(.*)\})? ", drinks_metrics(), re.MULTILINE)
    labels = {name: set(re.findall(r'(\w+)="', rest)) for name, rest in samples}
    used = [one for text in expressions() for one in re.findall(r"(evenhand_\w+)(?:\{([^}]*)\})?", text)]
    assert len({name for name, _ in used}) >= 8
    for name, rest in used:
        assert name in labels
        assert set(re.findall(r"(\w+)(?:=~|=|!=|!~)", rest)) <= labels[name] | {"instance", "job"}


@pytest.fixture
def drinks_metrics(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """The metrics of a server that has answered requests of all kinds."""
    from evenhand.service.store import Decide, Reward, Store

    metrics = Metrics()
    store = Store.open(str(tmp_path / "evenhand.db"), observer=metrics)
    store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": 0.2}, seed=1)
    store.run("drinks", Decide(done=metrics.carried_out))
    store.run("drinks", Reward([("1", {"tea": 1.0})], done=metrics.carried_out))
    metrics.request("POST", "/v1/allocations/{name}/decisions", 200, 0.001, "shop")
    metrics.watch(store)
    yield lambda: metrics.exposition().decode()
    store.close()


@pytest.mark.parametrize(("file", "words"), list(commands()))
def test_every_option_exists(file: str, words: list[str]) -> None:
    command: Any = get_command(app)
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_rules_are_of_the_paths_that_there_are() -> None:
    scrape = loaded("prometheus/prometheus.yaml")
    compose = loaded("compose.yaml")
    (name,) = compose["services"]["prometheus"]["secrets"]
    (job,) = scrape["scrape_configs"]
    assert job["authorization"]["credentials_file"] == f"/run/secrets/{name}"
    assert job["static_configs"] == [{"targets": ["evenhand:8000"]}]
    assert (DEPLOY / "prometheus" / scrape["rule_files"][0]).exists()
    tested = {test["alertname"] for test in loaded("prometheus/rules_test.yaml")["tests"][0]["alert_rule_test"]}
    assert tested == {rule["alert"] for rule in loaded("prometheus/rules.yaml")["groups"][0]["rules"]}


def test_every_file_that_is_mounted_or_copied_exists() -> None:
    compose = loaded("compose.yaml")
    for service in compose["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (DEPLOY / source).is_dir() if source.startswith(".") else source in compose["volumes"]
        image = service["image"].rpartition("/")[2]
        assert re.fullmatch(r"[a-z]+:v?\d+\.\d+.*", image), "an image has a version"
    assert compose["services"]["evenhand"]["image"] == f"evenhand:{__version__}"
    for line in instruction("COPY"):
        *sources, _ = line.split()
        assert sources[0].startswith("--from=") or all((ROOT / source).exists() for source in sources)
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text().splitlines()
    wanted = {f"!{source}" for line in instruction("COPY") for source in line.split()[:-1] if "--from" not in line}
    assert wanted <= set(ignored)


def test_the_container_is_not_root_and_its_images_are_pinned() -> None:
    assert instruction("USER") == ["evenhand"]
    assert {line.split()[0] for line in instruction("FROM")} == {"docker.io/library/python:3.13.7-slim-bookworm"}
    assert instruction("VOLUME") == ['["/data"]']


def test_the_board_shows_each_panel_once() -> None:
    board = json.loads((DEPLOY / "grafana/dashboards/evenhand.json").read_text())
    places = [panel["gridPos"] for panel in board["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(set(cells)) == len(cells), "panels overlap"
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in board["panels"]}) == len(places)
    (datasource,) = loaded("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {datasource["uid"]}
