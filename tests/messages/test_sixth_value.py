"""A new value of an arm touches two files: the record of the change, and the algorithm that has the parameter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import evenhand

#: The field that is added to `ArmValues`.
FIELD = """    boost: Share | None = per_arm("boosts", 0.5)  # how much its score is raised
"""
#: The algorithm that has the parameter.
ALGORITHM = '''
from evenhand.algorithms.registry import algorithm
from evenhand.algorithms.minimum import fucb
from evenhand.policy.composition import Policy


@algorithm()
def boosted(boosts: object, fractions: object, *, plays: int = 1) -> Policy:
    """UCB1 with raised scores.

    Args:
        boosts: per arm.
        fractions: promised shares.
        plays: arms per round.
    """
    assert len(boosts) == len(fractions)
    return fucb(fractions, plays=plays)
'''
#: Everything through which the value goes.
SCRIPT = """
import asyncio, tempfile
import httpx
import boosted
from evenhand.bandit import Bandit
from evenhand.changes import AddArm
from evenhand.client import Client
from evenhand.service.http.app import create_app
from evenhand.service.store import Change, ReadArms, Store

mate = AddArm("mate", fraction=0.2, boost=0.75)
bandit = Bandit(["tea", "coffee"], "boosted", boosts={"tea": 1.0}, fractions=0.1)
assert bandit.parameters["boosts"] == [1.0, 0.5]
assert bandit.plan(mate).arms[2].boost == 0.75
bandit.change(mate)
bandit.add("mokka", boost=0.25)
assert bandit.parameters["boosts"] == [1.0, 0.5, 0.75, 0.25]

path = tempfile.mkdtemp() + "/drinks.db"
store = Store.open(path)
store.create("drinks", ["tea", "coffee"], "boosted", parameters={"boosts": 0.5, "fractions": 0.1}, seed=1)
assert store.run("drinks", Change(mate)).changed
assert not store.run("drinks", Change(mate)).changed
assert [one.boost for one in store.run("drinks", ReadArms()).arms] == [0.5, 0.5, 0.75]

app = create_app(store)
schema = app.openapi()["components"]["schemas"]
about = schema["AddArm"]["properties"]["boost"]
assert about["x-value"] == {"parameter": "boosts", "new": 0.5}, about  # the page makes its field from this
assert about["description"] == "how much its score is raised"
assert "boost" in schema["Arm"]["properties"]


class Served(httpx.BaseTransport):
    def handle_request(self, request):
        async def ask():
            transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http:
                return await http.request(request.method, request.url, content=request.read(), headers=request.headers)

        answer = asyncio.run(ask())
        return httpx.Response(answer.status_code, content=answer.content, headers=answer.headers)


_, key = store.keys.create("client", ["administer", "read"])
with Client("http://127.0.0.1:8000", key, transport=Served()) as client:
    assert client.plan("drinks", AddArm("chai", boost=0.125)).arms[-1].boost == 0.125
    client.change("drinks", AddArm("chai", boost=0.125))
    assert client.arms("drinks")[-1].boost == 0.125
    assert list(client.events("drinks"))[-1].data == {"change": "add", "arm": "chai", "boost": 0.125}

from typer.testing import CliRunner
from evenhand.cli.client import app as commands
shown = CliRunner().invoke(commands, ["change", "add", "--help"]).output
assert "--boost NUMBER" in shown and "How much its score is raised" in shown, shown
store.close()
print("through")
"""


def test_a_sixth_value_touches_two_files(tmp_path: Path) -> None:
    package = Path(evenhand.__file__).parent
    shutil.copytree(package, tmp_path / "evenhand", ignore=shutil.ignore_patterns("__pycache__"))
    record = tmp_path / "evenhand" / "messages" / "changes.py"
    text = record.read_text()
    last = "  # guaranteed reward per round\n"
    assert text.count(last) == 1
    record.write_text(text.replace(last, last + FIELD))
    (tmp_path / "boosted.py").write_text(ALGORITHM)
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "through\n", done.stderr
