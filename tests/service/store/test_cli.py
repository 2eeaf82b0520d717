"""The commands `export` and `verify`, as their users meet them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import make_url

from evenhand import Features
from evenhand.bandit import Bandit
from evenhand.bandit.evaluation.log import read_log
from evenhand.cli import main as cli
from evenhand.service.store import Decide, Reward, Store
from evenhand.service.store.database import Database
from tests.service.store.kit import change_rows
from tests.service.store.test_features import FEATURES, POLICY, SETTINGS

Run = Callable[..., tuple[int, str, str]]


def filled(url: str) -> None:
    """Two allocations, the first with 5 decisions and their rewards, which are 11 events."""
    store = Store.open(url)
    store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": {"coffee": 0.25}}, seed=1)
    store.create("films", ["heat"], "thompson", seed=1)
    for _ in range(5):
        decision = store.run("drinks", Decide()).decisions[0]
        store.run("drinks", Reward(((decision.id, {decision.names[0]: 1.0}),)))
    store.run("films", Decide(count=2))
    store.close()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with both."""
    path = tmp_path_factory.mktemp("two") / "evenhand.db"
    filled(str(path))
    return path


@pytest.fixture
def run(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``evenhand`` in a folder with a database; exit status and what was printed."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("EVENHAND_DATABASE", raising=False)
    shutil.copy(two, "evenhand.db")

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["evenhand", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        output = capsys.readouterr()
        return int(left.value.code or 0), output.out, output.err

    return call


def refused(run: Run, *words: str) -> str:
    """The one line that says why a command is refused."""
    status, out, err = run(*words)
    assert status == 2
    assert out == ""
    assert err.startswith("evenhand: ")
    assert err.count("\n") == 1
    return err


# --- export -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export_writes_the_log(run: Run, ending: str) -> None:
    assert run("export", "drinks", f"log.{ending}") == (0, "", f"wrote 5 rows to log.{ending}\n")
    read = read_log(f"log.{ending}")
    assert (read.rounds, read.items) == (5, ("coffee", "tea"))
    assert read.propensity.tolist() == [1.0] * 5
    status, out, _ = run("evaluate", f"log.{ending}", "--shares", "tea=1", "--json")
    assert status == 0
    assert json.loads(out)["rounds"] == 5


def test_export_estimates_where_asked(run: Run) -> None:
    assert run("export", "films", "log.csv")[0] == 0
    wrong = refused(run, "evaluate", "log.csv", "--shares", "uniform", "--missing", "zero")
    assert "rows with a blank 'propensity_score', which `evenhand export --estimate` estimates" in wrong
    assert run("export", "films", "log.csv", "--estimate") == (0, "", "wrote 2 rows to log.csv\n")
    assert read_log("log.csv", missing="zero").propensity.tolist() == [1.0, 1.0]


def test_export_says_beside_the_file_what_the_features_are(run: Run) -> None:
    with closing(Store.open()) as store:
        store.create("shop", ["tea", "coffee"], POLICY, **SETTINGS | {"rewards": (0.0, 30.0), "words": {"unit": "€"}})
        (made,) = store.run("shop", Decide(features={"age": 33, "country": "DE"})).decisions
        store.run("shop", Reward([(made.id, {made.names[0]: 12.0})]))
    assert run("export", "shop", "log.csv", "--features") == (0, "", "wrote 1 row to log.csv\n")
    read = read_log("log.csv")
    assert read.known is not None
    assert read.known.features == Features(**FEATURES)
    assert (read.reading.rewards, read.reading.unit) == ((0.0, 30.0), "€")
    assert run("export", "shop", "other.csv")[0] == 0
    assert not Path("other.columns.toml").exists()


def test_export_takes_the_database_from_an_option_or_the_environment(
    run: Run, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(postgresql)
    Path("evenhand.db").unlink()
    assert run("export", "drinks", "one.csv", "--database", postgresql)[0] == 0
    monkeypatch.setenv("EVENHAND_DATABASE", postgresql)
    assert run("export", "drinks", "two.csv")[0] == 0
    assert len(read_log("one.csv").item) == len(read_log("two.csv").item) == 5
    assert run("verify") == (
        0,
        "drinks: 11 events result in the stored state\nfilms: 3 events result in the stored state\n",
        "",
    )


def test_export_refuses_in_a_line(run: Run) -> None:
    Path("folder.csv").mkdir()
    Path("file").write_text("no folder")
    assert "there is no allocation 'nobody'" in refused(run, "export", "nobody", "log.csv")
    assert "there is no allocation 'a b'" in refused(run, "export", "a b", "log.csv")
    assert "must end in .csv or .parquet, got 'log.txt'" in refused(run, "export", "drinks", "log.txt")
    for file in ("missing/log.csv", "file/log.csv", "/proc/log.csv", "folder.csv", "x" * 300 + ".csv"):
        assert f"the log could not be written to {file}: " in refused(run, "export", "drinks", file)
    assert sorted(path.name for path in Path().iterdir() if not path.name.startswith("evenhand.db")) == [
        "file",
        "folder.csv",
    ]


def test_export_keeps_the_file_that_is_there_where_it_fails(run: Run) -> None:
    Path("log.csv").write_text("what was there")
    refused(run, "export", "nobody", "log.csv")
    database = Database("evenhand.db")
    change_rows(database, "UPDATE events SET body = 'no JSON' WHERE sequence = 10")
    database.close()
    assert "event 10 (decide) was edited" in refused(run, "export", "drinks", "log.csv")
    assert Path("log.csv").read_text() == "what was there"
    assert [path.name for path in Path().iterdir() if path.suffix == ".csv"] == ["log.csv"]


@pytest.mark.parametrize("command", [("export", "drinks", "log.csv"), ("verify",)], ids=["export", "verify"])
@pytest.mark.parametrize(
    ("database", "fault"),
    [
        ("missing.db", "there is no database missing.db; `evenhand keys create` creates one"),
        ("sqlite:///missing.db", "there is no database missing.db; `evenhand keys create` creates one"),
        ("missing/evenhand.db", "there is no database missing/evenhand.db"),
        (".", "unable to open database file"),
        ("text.db", "the database text.db cannot be used: file is not a database"),
        ("", "a database in memory"),
        ("mysql://user:geheim@host/x", "must be SQLite or PostgreSQL, not mysql"),
        ("postgresql://tests:geheim@127.0.0.1:1/x", "cannot be used: connection failed"),
        ("postgresql:/tests:geheim@127.0.0.1:1/x", "must be a path or a URL"),
    ],
)
def test_what_is_no_database_is_named_and_not_created(
    run: Run, command: tuple[str, ...], database: str, fault: str
) -> None:
    Path("text.db").write_text("no database " * 1000)
    before = {path.name for path in Path().iterdir()}
    message = refused(run, *command, "--database", database)
    assert fault in message
    assert "geheim" not in message
    assert {path.name for path in Path().iterdir()} == before


def test_a_database_of_a_newer_version_is_refused(run: Run) -> None:
    database = Database("evenhand.db")
    change_rows(database, "UPDATE alembic_version SET version_num = '9999'")
    database.close()
    assert "which is later than 0005 of this Evenhand: use a later version of Evenhand" in refused(run, "verify")


def test_a_fault_of_the_database_is_printed_once(tmp_path: Path) -> None:
    """In a process of its own, in which nothing takes what is logged."""
    command = [sys.executable, "-m", "evenhand.cli.main", "verify", "--database", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    fault = f"evenhand: the database {tmp_path} cannot be used: unable to open database file\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", fault)


# --- report -----------------------------------------------------------------------------------------------------------


def test_report_reads_a_database_or_a_saved_bandit(run: Run) -> None:
    before = Path("evenhand.db").read_bytes()
    assert run("report", "drinks", "--database", "evenhand.db", "--out", "a.html") == (0, "", "wrote a.html\n")
    assert Path("evenhand.db").read_bytes() == before
    (checksum,) = re.findall("--checksum ([0-9a-f]{32})<", Path("a.html").read_text())
    assert run("verify", "drinks", "--checksum", checksum)[0] == 0
    assert "no event has the checksum" in run("verify", "films", "--checksum", checksum)[2]
    Bandit(["tea", "coffee"], "ucb1").save("bandit.json")
    assert run("report", "bandit.json")[0] == 0
    assert "Nothing has been decided yet." in Path("report.html").read_text()
    assert "there is no allocation 'mate'" in refused(run, "report", "mate", "--database", "evenhand.db")
    assert "there is no file none.json" in refused(run, "report", "none.json")


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify_lists_all_or_those_named(run: Run) -> None:
    drinks, films = (
        "drinks: 11 events result in the stored state\n",
        "films: 3 events result in the stored state\n",
    )
    assert run("verify") == (0, drinks + films, "")
    assert run("verify", "films") == (0, films, "")
    assert run("verify", "films", "drinks") == (0, films + drinks, "")
    status, out, err = run("verify", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "verified": {"drinks": 11, "films": 3},
        "since": {"drinks": 1, "films": 1},
        "faults": [],
    }
    assert "there is no allocation 'nobody'" in refused(run, "verify", "nobody")


def test_old_events_are_replaced_by_their_state(run: Run) -> None:
    """All events of the first allocation are older than the year 3000, and none older than 2000."""
    words = ("db", "compact", "drinks", "--before")
    assert "0 events of drinks were replaced by their state" in run(*words, "2000-01-01")[2]
    replaced = "11 events of drinks were replaced by their state; the remaining events begin at round 6"
    assert replaced in run(*words, "3000-01-01")[2]
    assert run("verify", "drinks") == (0, "drinks: 1 event from round 6 on results in the stored state\n", "")
    assert run("db", "compact", "drinks", "--before", "yesterday")[0] == 2


def test_restore_asks_which_way_to_go(run: Run) -> None:
    """The snapshot is after event 11, the last one."""
    change_rows(Database("evenhand.db"), "UPDATE events SET time = time + 1 WHERE allocation = 1 AND sequence = 8")
    status, _, error = run("db", "restore", "drinks")
    assert status == 2
    assert "in two ways: --back returns to event 7 and loses everything after it; --from-snapshot continues" in error
    note = "drinks is restored to event 11; 4 events were moved to drinks-removed.jsonl"
    assert note in run("db", "restore", "drinks", "--from-snapshot")[2]
    note = "drinks is restored to event 11; 0 events were moved to more.jsonl"
    assert note in run("db", "restore", "drinks", "--removed", "more.jsonl")[2]
    assert run("verify")[0] == 0


def test_verify_of_an_empty_database_lists_nothing(run: Run) -> None:
    Store.open("empty.db").close()
    assert run("verify", "--database", "empty.db") == (0, "", "")
    found = json.loads(run("verify", "--database", "empty.db", "--json")[1])
    assert found == {"verified": {}, "since": {}, "faults": []}


def test_verify_names_what_is_wrong_and_goes_on(run: Run) -> None:
    database = Database("evenhand.db")
    change_rows(database, "DELETE FROM events WHERE allocation = 1 AND sequence = 5")
    database.close()
    fault = "allocation 'drinks': event 5 is missing; event 6 comes next"
    films = "films: 3 events result in the stored state\n"
    assert run("verify") == (2, films, f"evenhand: {fault}\n")
    status, out, err = run("verify", "--json")
    assert (status, err) == (2, f"evenhand: {fault}\n")
    assert json.loads(out) == {"verified": {"films": 3}, "since": {"films": 1}, "faults": [fault]}
    assert run("verify", "films") == (0, films, "")


def test_verify_reads_a_file_and_makes_none(run: Run) -> None:
    """Also where the path has characters that mean something in the addresses of SQLite."""
    Path("evenhand.db").rename("a?mode=rw#%41.db")
    before = {path.name: path.stat().st_mtime_ns for path in Path().iterdir()}
    assert run("verify", "films", "--database", "a?mode=rw#%41.db")[0] == 0
    assert {path.name: path.stat().st_mtime_ns for path in Path().iterdir()} == before


def test_verify_changes_nothing(run: Run) -> None:
    def content() -> list[str]:
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect("evenhand.db")) as connection:
            return list(connection.iterdump())

    before = content()
    run("verify")
    run("export", "drinks", "log.csv")
    assert content() == before


# --- from the log to the evaluation -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported(two: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[bytes]:
    folder = tmp_path_factory.mktemp("exported")
    shutil.copy(two, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["evenhand", "export", "drinks", "log.csv"])
        with pytest.raises(SystemExit):
            cli.main()
        yield (folder / "log.csv").read_bytes()


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(place=st.integers(0, 600), size=st.integers(0, 40), put=st.binary(max_size=6))
def test_a_damaged_log_is_evaluated_or_refused_in_lines(
    run: Run, exported: bytes, place: int, size: int, put: bytes
) -> None:
    """Never a traceback, and nothing on standard output where it fails."""
    Path("log.csv").write_bytes(exported[:place] + put + exported[place + size :])
    status, out, err = run("evaluate", "log.csv", "--shares", "uniform", "--missing", "zero")
    assert status in (0, 2)
    assert (status == 0) == (err == "") == (out != "")
    assert status == 0 or err.startswith("evenhand: ")


def test_passwords_with_odd_characters_are_understood(run: Run, postgresql: str) -> None:
    url = make_url(postgresql)
    database = Database(postgresql)
    change_rows(database, "CREATE ROLE odd LOGIN SUPERUSER PASSWORD 'a@b:c/d?e#f%'")
    try:
        database.migrate()
        odd = url.set(username="odd", password="a@b:c/d?e#f%").render_as_string(hide_password=False)
        assert run("verify", "--database", odd) == (0, "", "")
    finally:
        change_rows(database, "DROP ROLE odd")
        database.close()
