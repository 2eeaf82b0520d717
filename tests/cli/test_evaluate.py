"""``evenhand evaluate`` as a user meets it: in euros, on a narrow terminal, with several targets and a learner."""

from __future__ import annotations

import json
import random
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.bandit.evaluation.evaluation import evaluate
from evenhand.bandit.evaluation.log import read_log
from evenhand.bandit.evaluation.replay import replay
from evenhand.cli import main as cli
from tests.bandit.evaluation.logs import HEADER, ROWS, written

EUROS = ("evaluate", "euros.csv", "--column", "reward=euros")
LEARNER = ("--algorithm", "hard_threshold_ucb", "--set", "fractions=0.1", "--set", "penalties=1")


@pytest.fixture(autouse=True)
def euros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 customers, who buy tea for 12.5 euros or coffee for 40."""
    monkeypatch.chdir(tmp_path)
    draws = random.Random(1)
    lines = ["timestamp,item_id,euros,propensity_score"]
    for second in range(500):
        item, price = draws.choice([("tea", 12.5), ("coffee", 40.0)])
        lines.append(f"{second},{item},{price * (draws.random() < 0.4)},0.5")
    Path("euros.csv").write_text("\n".join(lines))


def test_a_learner_takes_a_log_in_euros_with_its_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*EUROS, *LEARNER]) == 2
    assert "not within 0 to 1: set --rewards 0,40\n" in capsys.readouterr().err
    assert cli.run([*EUROS, *LEARNER, "--rewards", "0,40", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["replay"]
    assert found["shares"]["coffee"] > 0.8
    assert found["interval"]["low"] < 40 * 0.4 < found["interval"]["high"]
    assert found["rounds"] == pytest.approx(250, abs=40)


def test_columns_of_other_names_come_with_the_options_that_name_them(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.csv").write_text("time,the item,click,propensity\n1,tea,1,0.5\n")
    assert cli.run(["evaluate", "other.csv", "--shares", "uniform"]) == 2
    options = "--column 'item_id=the item'"  # the other two names are recognised
    assert capsys.readouterr().err.endswith(f"name what is missing with {options}\n")
    assert cli.run(["evaluate", "other.csv", "--shares", "uniform", *shlex.split(options)]) == 0


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (".1", "--set fractions=.1 is not a number as TOML writes it (write 0.1)"),
        ("10%", "--set fractions=10% is not a number as TOML writes it (write 0.1)"),
        ("{tea = .1}", "--set fractions={tea = .1} is not valid TOML"),
    ],
)
def test_a_parameter_that_is_almost_a_number_gets_a_hint(
    value: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*EUROS, "--algorithm", "fucb", "--set", f"fractions={value}"]) == 2
    assert says in capsys.readouterr().err


def test_a_report_refuses_options_that_do_not_apply(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plain.csv").write_text("time,item,click\n1,tea,1\n2,mate,0\n3,mate,1\n")
    for arguments, says in (
        (["plain.csv", "--database", "evenhand.db"], "--database is for an allocation; this is a log"),
        (["plain.csv", "--shares", "uniform"], "--shares is for a log with propensities; this is one without"),
        (["drinks", "--unit", "€"], "--unit is for a log; this is an allocation"),
    ):
        assert cli.run(["report", *arguments]) == 2
        assert says in capsys.readouterr().err


def test_rewards_that_are_missing_are_a_choice_between_options(capsys: pytest.CaptureFixture[str]) -> None:
    Path("blank.csv").write_text("timestamp,item_id,click,propensity_score\n1,tea,,0.5\n")
    assert cli.run(["evaluate", "blank.csv", "--shares", "uniform"]) == 2
    printed = capsys.readouterr().err
    assert all(f"--missing {meaning}" in printed for meaning in ("zero", "lost", "never"))


def test_a_narrow_terminal_cuts_no_number(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*EUROS, *LEARNER, "--rewards", "0,40", "--shares", "uniform", "--shares", "coffee=1"]
    assert cli.run([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "70")
    assert cli.run(words) == 0
    text = re.sub("\x1b[^m]*m", "", capsys.readouterr().out)
    assert "…" not in text
    for one in (*printed["estimates"].values(), *printed["differences"]):
        assert f"{one['interval']['low']:.3g} to {one['interval']['high']:.3g}" in text
    assert max(map(len, text.splitlines())) <= 70


# --- the command in a folder with a log -------------------------------------------------------------------------------


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run ``evenhand evaluate log.csv …`` in a folder with a log; exit status and what was printed."""
    written(tmp_path, HEADER + ROWS)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["evenhand", "evaluate", "log.csv", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        printed = capsys.readouterr()
        return int(left.value.code or 0), printed.out, printed.err

    return run


Command = Callable[..., tuple[int, str, str]]


def test_command_as_json(command: Command, tmp_path: Path) -> None:
    status, out, err = command("--shares", "tea=0.5,mate=0.5", "--json")
    printed = json.loads(out)
    assert (status, err) == (0, "")
    evaluation = evaluate(read_log(tmp_path / "log.csv"), {"tea": 0.5, "mate": 0.5}).to_json()
    assert printed == {"log": "log.csv", **evaluation}
    assert printed["answer"] == "no"  # of three rounds
    written(tmp_path, json.dumps({"tea": 0.5, "mate": 0.5}), "shares.json")
    assert json.loads(command("--shares", "shares.json", "--json")[1]) == printed
    even = json.loads(command("--shares", "uniform", "--json")[1])
    assert even["estimates"]["uniform"]["value"] == printed["estimates"]["fixed shares"]["value"]
    positions = json.loads(command("--shares", "uniform", "--by-position", "--json")[1])["positions"]
    assert {place: one["rounds"] for place, one in positions.items()} == {"position 1": 2, "position 2": 1}


def test_command_compares_several_targets(command: Command, tmp_path: Path) -> None:
    words = ("--shares", "uniform", "--shares", "tea=1", "--estimator", "snips", "--rewards", "0,2", "--clip", "1.5")
    printed = json.loads(command(*words, "--interval", "sequence", "--against", "fixed shares", "--json")[1])
    targets, log = ["uniform", {"tea": 1.0}], read_log(tmp_path / "log.csv")
    options = {"estimator": "snips", "clip": 1.5, "rewards": (0, 2), "interval": "sequence"}
    found = evaluate(log, targets, against="fixed shares", **options).to_json()  # type: ignore[arg-type]
    assert printed == {"log": "log.csv", **found, "notes": []}
    assert [one["second"] for one in printed["differences"]] == ["fixed shares"]


def test_command_replays_with_parameters(command: Command, tmp_path: Path) -> None:
    words = ("--set", "fractions={tea=0.2, mate=0.3}", "--set", "evidence=optimistic", "--seed", "3")
    printed = json.loads(command("--algorithm", "f_ts", *words, "--json")[1])
    parameters = {"fractions": {"tea": 0.2, "mate": 0.3}, "evidence": "optimistic"}
    assert printed["replay"] == replay(read_log(tmp_path / "log.csv"), "f_ts", parameters, seed=3).to_json()
    both = json.loads(command("--algorithm", "f_ts", *words, "--shares", "uniform", "--json")[1])
    assert (both["replay"], [*both["estimates"]]) == (printed["replay"], ["uniform"])
    assert "f_ts decided" in command("--algorithm", "f_ts", *words)[1]


def test_command_estimates_propensities_where_asked(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{second},{'aab'[second % 3]},{second % 2}\n" for second in range(300))
    written(tmp_path, "timestamp,item_id,reward\n" + rows)
    refused = command("--shares", "uniform")[2]
    assert "estimate it with --estimate, or name it with --column propensity_score=" in refused
    status, out, _ = command("--shares", "uniform", "--estimate")
    assert (status, out.splitlines()[1][:35]) == (0, "Can this log answer? With care: the")
    assert "warning: the propensities were estimated" in out


def test_command_balances_several_logs(command: Command, tmp_path: Path) -> None:
    for name, share in (("log.csv", 0.5), ("other.csv", 0.9)):
        rows = "".join(f"{second},{'ab'[second % 2]},1,{(share, 1 - share)[second % 2]}\n" for second in range(40))
        written(tmp_path, "timestamp,item_id,reward,propensity_score\n" + rows, name)
    printed = json.loads(command("other.csv", "--shares", "uniform", "--json")[1])
    assert (printed["log"], printed["rounds"]) == ("log.csv, other.csv", 80)
    assert printed["grades"]["uniform"]["largest"] == pytest.approx(0.5 / 0.3)


def test_command_is_strict_where_asked(command: Command, tmp_path: Path) -> None:
    assert command("--shares", "uniform", "--strict")[0] == 1
    assert command("--shares", "uniform")[0] == 0
    assert command("--algorithm", "ucb1", "--strict")[0] == 1
    rows = "".join(f"{second},{'ab'[second % 2]},{second % 3 == 0:d},0.5\n" for second in range(400))
    written(tmp_path, "timestamp,item_id,reward,propensity_score\n" + rows)
    assert command("--shares", "uniform", "--strict")[0] == 0


def test_command_shows_tables(command: Command) -> None:
    words = ("--shares", "uniform", "--clip", "1.5", "--column", "reward=reward", "--rows", "--interval", "normal")
    status, out, err = command(*words)
    assert (status, err) == (0, "")
    assert out.splitlines()[1].startswith("Can this log answer? No: the log cannot say what uniform would earn.")
    for text in (
        "3 rounds, 2 items",
        "the log's policy",
        "uniform − the log's policy",
        "95% interval",
        "doubly robust",
    ):
        assert text in out
    assert "no interval is claimed, as the warnings say" in out  # in the third round tea had a chance of 1


def test_everything_is_within_80_columns_and_in_the_unit_of_the_log(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{second},{'tea' if second % 3 else 'mate'},{second % 2 * 40},0.4\n" for second in range(300))
    written(tmp_path, "timestamp,item_id,reward,propensity_score\n" + rows)
    written(tmp_path, 'rewards = [0, 40]\nunit = "€"\n', "log.columns.toml")
    several = [word for share in (0.1, 0.2, 0.3, 0.4, 0.5) for word in ("--shares", f"tea={share},mate={1 - share:g}")]
    _, out, _ = command(*several, "--algorithm", "ucb1", "--interval", "sequence")
    assert max(map(len, out.splitlines())) <= 80
    assert all(f" fixed shares {one} " in out for one in range(1, 6))
    assert "reward per round, €" in out
    assert re.search(r"earned [0-9.]+ € per round", " ".join(out.split()))
    assert "warning: the mean weight is" in out


def test_what_the_command_says_is_what_print_says(command: Command, tmp_path: Path) -> None:
    assert command("--shares", "tea=1", "--rows")[0] == 0  # which is kept, and said the next time
    _, out, _ = command("--shares", "tea=1")
    said = str(evaluate(read_log(tmp_path / "log.csv"), {"tea": 1.0}))
    flat = " ".join(out.split())
    for line in (one for one in said.splitlines() if " per round" not in one and "earns" not in one):
        assert line in flat


def test_strict_refuses_where_an_interval_contradicts_the_log(command: Command, tmp_path: Path) -> None:
    rng = random.Random(0)  # tea had a chance of 0.9 in the second half, which the log states as 0.5
    items = ["tea" if rng.random() < (0.5, 0.9)[second >= 400] else "mate" for second in range(6000)]
    lines = [f"{second},{item},{rng.randrange(2)},{0.5 if second else 0.4}" for second, item in enumerate(items)]
    written(tmp_path, "timestamp,item_id,reward,propensity_score\n" + "\n".join(lines))
    status, out, _ = command("--shares", "tea=1", "--shares", "tea=0.6,mate=0.4", "--strict")
    assert status == 1
    assert "Can this log answer? No." in out
    assert re.search(r"− fixed shares 1 +-?[0-9.]+ +none", out)


def test_a_replay_is_an_evaluation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["replay", "log.csv"]) == 2
    assert "`evenhand evaluate LOG --algorithm NAME` replays a log" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shares", "Tea=1"), "'Tea' is not in log.csv; did you mean 'tea'?"),
        ((), "give what to evaluate by --shares, --algorithm, or both"),
        (("--shares", "uniform", "--clip", "much"), "--clip must be a weight such as 10, or 'slope'; got 'much'"),
        (("--shares", "uniform", "--against", "unifrom"), "did you mean 'uniform'"),
        (("--shares", "uniform", "--rewards", "0"), "--rewards must have the form LOW,HIGH"),
        (("--shares", "uniform", "--rewards", "0,0.1"), "'1' is not within the range of rewards, 0 to 0.1"),
        (("--shares", "uniform", "--set", "a=1"), "--set needs --algorithm"),
        (("--shares", "tea"), "--shares must have the form ITEM=SHARE,…, such as a=0.2,b=0.8; got 'tea'"),
        (("--shares", "tea=half"), "--shares must have the form"),
        (("--shares", "tea=10%,mate=0.9"), "got 'tea=10%' (write 0.1)"),
        (("--shares", "te=0.1,mate=0.9"), "'te' is not in log.csv; did you mean 'tea'?"),
        (("--shares", "uniform", "--column", "reward=sold"), "name what is missing with --column reward=…"),
        (("--shares", "uniform", "--column", "time=timestamp"), "comes second: --column timestamp=time"),
        (("--shares", "tea=0.5,tea=0.5"), "names 'tea' twice"),
        (("--shares", "tea=0.5"), "shares must sum to 1, they sum to 0.5"),
        (("--shares", "none.json"), "there is no file none.json"),
        (("--shares", "list.json"), "list.json must contain an object"),
        (("--shares", "text.json"), "text.json: the share of 'tea' must be a number"),
        (("--shares", "broken.json"), "broken.json cannot be read as JSON"),
        (
            ("--algorithm", "ucb1", "--set", "exploration"),
            "must have the form NAME=VALUE, such as exploration=2.0",
        ),
        (("--algorithm", "{ index = "), "is neither TOML nor JSON"),
        (("--algorithm", "none.toml"), "there is no file none.toml"),
        (("--algorithm", "list.json"), "list.json must be the table of one policy"),
        (("--algorithm", "nowhere:own"), "there is no module 'nowhere'"),
        (("--shares", "uniform", "--missing", "mean"), "missing must be 'never' or 'lost' or 'zero', got 'mean'"),
        (
            ("--shares", "uniform", "--column", "reward"),
            "must have the form COLUMN=NAME, such as reward=bought",
        ),
        (("--shares", "uniform", "--clip", "-1"), "clip must be a number of at least 0"),
    ],
)
def test_command_refuses(command: Command, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    written(tmp_path, "[1]", "list.json")
    written(tmp_path, '{"tea": "half"}', "text.json")
    written(tmp_path, "{", "broken.json")
    status, out, err = command(*words)
    assert (status, out) == (2, "")
    assert err.startswith("evenhand: ")
    assert message in err


def test_a_command_that_fails_keeps_nothing_and_one_that_succeeds_does() -> None:
    kept = Path("euros.columns.toml")
    assert cli.run([*EUROS, "--rewards", "0,40", "--algorithm", "fuc"]) == 2
    assert not kept.exists()
    assert cli.run([*EUROS, "--rewards", "0,40", "--shares", "uniform", "--rows"]) == 0
    assert "rewards = [0.0, 40.0]" in kept.read_text()
    assert 'rounds = "row"' in kept.read_text()
    assert cli.run(["evaluate", "euros.csv", "--shares", "uniform", "--no-rows"]) == 0
    assert "rounds" not in kept.read_text()


def test_a_log_is_read_with_the_features_that_stand_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    rows = [
        f"{time},{'ab'[time % 2]},{int(time % 4 in (0, 3))},0.5,{'DE' if time % 4 < 2 else 'FR'}" for time in range(80)
    ]
    path.write_text("\n".join(["time,item,reward,propensity,country", *rows]), encoding="utf-8")
    path.with_suffix(".columns.toml").write_text(
        '[features.situation]\ncountry = { kind = "category", levels = ["DE", "FR"] }\n', encoding="utf-8"
    )
    table = "{ index = { kind = 'lin_ucb', radius = 0.1 } }"
    assert cli.run(["evaluate", str(path), "--algorithm", table, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["replay"]["reward"] > 0.7
    assert cli.run(["price", str(path), "--promise", "0.4"]) == 0
    assert "The model is a ridge regression for each arm; 2 contexts were weighed." in capsys.readouterr().out
    assert cli.run(["price", str(path), "--promise", "0.4", "--start", "drinks"]) == 2
    assert "--start begins with counts, which have no features" in capsys.readouterr().err


def test_columns_are_declared_as_features_by_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    draws, lines = random.Random(2), ["time,item,click,propensity,country,age"]
    for second in range(1000):
        item, country = draws.choice(["tea", "mate"]), draws.choice(["DE", "FR"])
        bought = draws.random() < (0.8 if (item == "tea") == (country == "FR") else 0.2)
        lines.append(f"{second},{item},{int(bought)},0.5,{country},{draws.randint(18, 80)}")
    Path("shop.csv").write_text("\n".join(lines))
    learner = ("--algorithm", "lin_ucb", "--set", "radius=0.2", "--json")
    assert cli.run(["evaluate", "shop.csv", *learner]) == 2
    assert "or a table [features] in the file .columns.toml beside it" in capsys.readouterr().err
    assert cli.run(["evaluate", "shop.csv", "--features", "country, age", *learner]) == 0
    assert json.loads(capsys.readouterr().out)["replay"]["reward"] > 0.7
    assert 'levels = ["DE", "FR"]' in Path("shop.columns.toml").read_text(encoding="utf-8")
    assert cli.run(["price", "shop.csv", "--features", "country", "--promise", "0.3"]) == 0
    assert "the choices of a linear model would earn 0." in capsys.readouterr().out
    for names, says in [("contry", "shop.csv has no column 'contry'; did you mean 'country'?"),
                        ("country,click", "is the reward, which is not known before the decision, and no feature"),
                        ("country,item", "is the item_id, which is not known before the decision, and no feature"),
                        ("propensity", "--features.propensity is 0.5 in every row, which says nothing")]:  # fmt: skip
        assert cli.run(["evaluate", "shop.csv", "--features", names, "--shares", "uniform"]) == 2
        assert says in capsys.readouterr().err
    assert cli.run(["evaluate", "none.csv", "--features", "age", "--shares", "uniform"]) == 2
    assert capsys.readouterr().err == "evenhand: there is no file none.csv\n"
