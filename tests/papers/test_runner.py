"""Running experiments, keeping results, judging claims and writing the report."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.core.errors import DataError, EvenhandError
from evenhand.datasets import movielens
from evenhand.judgement.claims import STATUSES, Finding
from evenhand.papers import report, runner
from evenhand.papers.claims import less, near
from evenhand.papers.data import recognised
from evenhand.papers.experiment import (
    FOLDERS,
    CompletedRun,
    Data,
    Experiment,
    PaperClaim,
    QuickSize,
    chosen,
    experiments,
)
from evenhand.papers.findings import findings, sentences
from evenhand.papers.judging import judge, judged_again, measured_by
from evenhand.papers.runner import Store
from evenhand.policy.composition import Policy
from evenhand.policy.index import UCB
from evenhand.policy.kl import KLUCB
from evenhand.simulation import simulate as simulation
from evenhand.simulation.code_version import code_version
from evenhand.simulation.files import without_infinities
from evenhand.simulation.tables import PolicyResult
from tests.thinned import thinned

EVERY = experiments()
Evenhand = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
TINY = dataclasses.replace(EVERY["P-2a"], quick=QuickSize(lanes=3, horizon=50))
IDS = [
    *("P-2a", "P-2b", "P-2c", "P-2d"),
    *("H-1", "H-2", "H-3", "H-4", "H-5", "H-6", "H-7"),
    *("F-1", "F-2", "F-3", "F-4", "F-5", "F-6", "F-7"),
    *("C-1", "C-2a", "C-2b", "C-2c", "C-2d", "C-3", "C-4", "C-5", "C-6", "C-7", "C-8", "C-9", "C-10"),
    *("W-2", "W-3", "W-4", "W-2-4", "W-5", "W-6", "W-7"),
    *("X-D1", "X-D2", "X-D3", "X-M1", "X-M2", "X-H", "X-G", "X-V", "X-W", "X-Y", "X-L", "X-R"),
]

FIRST = ("P-2a", "H-5", "X-V")  # that run in a second; `evenhand reproduce all --quick` runs all of them


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "quick", quick=True)


def never(*args: Any, **options: Any) -> Any:
    raise AssertionError("something ran")


# --- what there is ----------------------------------------------------------------------------------------------------


def test_every_experiment_of_the_papers_is_there() -> None:
    assert list(EVERY) == IDS


@pytest.mark.parametrize("name", IDS)
def test_an_experiment_says_what_a_reader_needs(name: str) -> None:
    experiment = EVERY[name]
    assert experiment.paper in FOLDERS
    assert experiment.title
    assert experiment.figure
    assert experiment.setting.endswith(".")
    assert experiment.claims
    for claim in experiment.claims:
        assert claim.sentence.endswith(".")
        assert claim.source
    assert all(choice.endswith(".") for choice in experiment.choices)


def test_every_configuration_belongs_to_an_experiment() -> None:
    folder = Path(runner.__file__).parent
    there = {(path.parent.name, path.stem) for path in folder.glob("*/*.toml")}
    assert there == {(one.paper, part) for one in EVERY.values() for part in one.parts}


def test_experiments_are_found_by_id_by_paper_and_all_together() -> None:
    assert [one.id for one in chosen(["H-2", "patil2019", "p-2B"])] == ["P-2a", "P-2b", "P-2c", "P-2d", "H-2"]
    assert [one.id for one in chosen(["all"])] == IDS
    with pytest.raises(EvenhandError, match=r"^there is no experiment 'C-99'; did you mean 'C-9'\?$"):
        chosen(["C-99"])
    with pytest.raises(EvenhandError, match=r"^there is no experiment 'huang2000'; did you mean 'huang2020'\?$"):
        chosen(["C-1", "huang2000"])


# --- running and keeping ----------------------------------------------------------------------------------------------


def test_what_has_been_run_is_not_run_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    first = store.run(TINY, messages.append)
    assert messages == ["p2a, 1 of 1"]
    monkeypatch.setattr(runner, "run_setup", never)
    again = store.run(TINY, messages.append)
    assert messages == ["p2a, 1 of 1"]
    for label, record in first["p2a"].results.policies.items():
        assert (again["p2a"].results.policies[label].pulls == record.pulls).all()
    with pytest.raises(AssertionError, match="something ran"):
        dataclasses.replace(store, again=True).run(TINY)


def test_other_settings_are_run_anew(store: Store) -> None:
    store.run(TINY)
    messages: list[str] = []
    runs = store.run(dataclasses.replace(TINY, quick=QuickSize(lanes=4, horizon=50)), messages.append)
    assert messages == ["p2a, 1 of 1"]
    assert runs["p2a"].results.information["lanes"] == 4


def test_results_of_another_version_are_refused_and_left_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.run(TINY)
    before, code = (store.place("p2a") / "run.json").read_text(), store.code(TINY)
    monkeypatch.setattr(runner, "code_version", lambda *parts: "9.9.9+other")
    monkeypatch.setattr(runner, "run_setup", never)
    with pytest.raises(EvenhandError, match=rf"holds results of another version \({re.escape(code)}\)"):
        store.run(TINY)
    assert (store.place("p2a") / "run.json").read_text() == before


def test_a_damaged_stamp_is_told(store: Store) -> None:
    store.run(TINY)
    (store.place("p2a") / "run.json").write_text("{")
    with pytest.raises(DataError, match=r"run\.json is damaged; remove .*p2a, and it is run again$"):
        store.run(TINY)


def test_a_policy_that_is_finished_is_kept_at_an_interrupt(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dataclasses.replace(store, folder=store.folder / "whole").run(TINY)["p2a"].results
    labels = list(store.setup(TINY, "p2a").policies)
    assert len(labels) > 2
    ran: list[str] = []
    real = simulation.run_block

    def at_most_two(policy: Policy, *others: Any) -> PolicyResult:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(policy.name)
        return real(policy, *others)

    monkeypatch.setattr(simulation, "run_block", at_most_two)
    with pytest.raises(KeyboardInterrupt):
        store.run(TINY)
    assert not store.is_there(TINY)
    monkeypatch.setattr(simulation, "run_block", real)
    (unfinished,) = (store.place("p2a") / "unfinished").iterdir()
    assert sorted(path.name for path in unfinished.iterdir()) == ["0.npz", "1.npz"]
    (unfinished / "1.npz").write_bytes(b"half of it")
    with pytest.raises(DataError, match=r"1\.npz is damaged; remove it, and it is run again$"):
        store.run(TINY)
    (unfinished / "1.npz").unlink()
    ran.clear()

    def counting(policy: Policy, *others: Any) -> PolicyResult:
        ran.append(policy.name)
        return real(policy, *others)

    monkeypatch.setattr(simulation, "run_block", counting)
    results = store.run(TINY)["p2a"].results
    assert ran == [store.setup(TINY, "p2a").policies[labels[1]].name]  # the others were there
    assert not (store.place("p2a") / "unfinished").exists()
    for label in labels:
        assert (results.policies[label].pulls == whole.policies[label].pulls).all()
        for name, curve in whole.policies[label].curves.items():
            np.testing.assert_array_equal(results.policies[label].curves[name], curve)


def test_interrupted_work_goes_on_where_it_stopped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    two = dataclasses.replace(TINY, parts=("p2a", "p2b"))
    calls: list[int] = []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return simulation.run_setup(*args, **options)

    monkeypatch.setattr(runner, "run_setup", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.run(two)
    assert not store.is_there(two)
    messages: list[str] = []
    store.run(two, messages.append)
    assert messages == ["p2b, 2 of 2"]
    assert store.is_there(two)


def test_time_is_taken_policy_by_policy_with_the_same_results(store: Store, tmp_path: Path) -> None:
    timed = Store(tmp_path / "timed", quick=True).run(dataclasses.replace(TINY, timed=True))["p2a"]
    plain = store.run(TINY)["p2a"]
    assert list(timed.seconds) == list(plain.results.policies)
    assert all(len(times) == runner.TIMINGS and min(times) > 0 for times in timed.seconds.values())
    assert not plain.seconds
    for label, record in plain.results.policies.items():
        assert (timed.results.policies[label].pulls == record.pulls).all()
    assert timed.results.information["policies"] == plain.results.information["policies"]


def test_a_quick_run_is_smaller_and_a_full_one_is_the_papers(store: Store, tmp_path: Path) -> None:
    quick = store.setup(TINY, "p2a")
    assert (quick.horizon, quick.lanes) == (50, 3)
    full = Store(tmp_path).setup(TINY, "p2a")
    assert (full.horizon, full.lanes) == (100_000, 100)


def test_what_is_fast_in_full_is_not_reduced_and_can_contradict(store: Store) -> None:
    whole = dataclasses.replace(TINY, quick=None)
    assert (store.reduces(TINY), store.reduces(whole)) == (True, False)
    setup = store.setup(whole, "p2a")
    assert (setup.horizon, setup.lanes) == (100_000, 100)


def test_the_user_s_data_are_put_into_the_configurations(tmp_path: Path) -> None:
    def put(config: dict[str, Any], path: Path) -> dict[str, Any]:
        return config | {"seed": len(path.name)}

    concerned = dataclasses.replace(TINY, data=(Data("outbrain", put, "On something else."),))
    assert Store(tmp_path).setup(concerned, "p2a").seed == 2019
    given = Store(tmp_path, data={"outbrain": Path("clicks")})
    assert given.setup(concerned, "p2a").seed == 6
    assert given.data_of(concerned) == "The user's outbrain data."
    assert Store(tmp_path).data_of(concerned) == "On something else."


def test_the_version_is_that_of_what_a_configuration_runs(store: Store) -> None:
    kl_ucb, ucb = Policy(KLUCB()), Policy(UCB())
    assert code_version(ucb) == code_version([ucb]) != code_version(kl_ucb)
    assert store.code(TINY) == runner.code_of(store.setup(TINY, "p2a")) != code_version()


# --- data -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "file", "found"),
    [
        ("movielens", "ratings.csv", "."),
        ("movielens", "ratings.dat", "."),
        ("movielens", "u.data", "."),
        ("outbrain", "clicks_train.csv", "."),
        ("coupons", "coupon_visit_train.csv", "coupon_visit_train.csv"),
        ("yeast", "yeast.csv.gz", "yeast.csv.gz"),
        ("yeast", "yeast.csv", "yeast.csv"),
        ("conversions", "top_conversions.txt", "top_conversions.txt"),
    ],
)
def test_data_are_told_by_the_files(kind: str, file: str, found: str, tmp_path: Path) -> None:
    (tmp_path / file).touch()
    assert recognised([tmp_path]) == {kind: tmp_path / found}
    assert recognised([tmp_path / file]) == {kind: tmp_path / found}


def test_data_that_nobody_knows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file or folder .*nowhere$"):
        recognised([tmp_path / "nowhere"])
    with pytest.raises(DataError, match=r"holds no data that an experiment is about; known files: ratings\.csv, "):
        recognised([tmp_path])
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "u.data").touch()
    with pytest.raises(DataError, match=r"two and .*one both hold movielens data; give one of them$"):
        recognised([tmp_path / "one", tmp_path / "two"])


# --- claims -----------------------------------------------------------------------------------------------------------


def finding(holds: bool, p_value: float = 1.0) -> Finding:
    claimed = (-np.inf, 2.0 if holds else 1.2)
    return Finding("regret <b>", 1.0, 0.5, 1.5, 3, "below 2", claimed, False, False, p_value, None if holds else 1234)


def claiming(*findings: Finding) -> Experiment:
    claim = PaperClaim("Less & less.", "section 0", lambda runs: findings, "less: than 2")
    return dataclasses.replace(TINY, claims=(claim,))


def test_a_claim_is_confirmed_only_if_every_number_agrees() -> None:
    statuses = [
        judge(claiming(*map(finding, holds)), {})[0].status for holds in ([True], [True, True], [True, False], [False])
    ]
    assert statuses == ["confirmed", "confirmed", "undecided", "undecided"]


def test_a_claim_is_contradicted_if_one_number_surely_does_not_agree() -> None:
    def status(*p_values: float, quick: bool = False) -> str:
        return judge(claiming(*(finding(False, p_value) for p_value in p_values)), {}, quick=quick)[0].status

    assert [status(0.05), status(0.051), status(0.04, 1.0), status(0.02, 1.0)] == [
        "contradicted",
        "undecided",
        "undecided",
        "contradicted",
    ]
    assert status(0.001, quick=True) == "too small to decide"


@pytest.mark.slow
def test_what_needs_the_paper_s_data_is_not_runnable_without(store: Store) -> None:
    experiment = dataclasses.replace(claiming(finding(True)), data=(Data("outbrain", lambda c, p: c, "On another."),))
    assert [verdict.status for verdict in judge(experiment, {}, given=["outbrain"])] == ["confirmed"]
    verdicts = judge(experiment, {}, given=[])
    assert [verdict.status for verdict in verdicts] == ["confirmed", "not runnable here"]
    assert verdicts[1].missing.startswith("Needs Outbrain Click Prediction (clicks_train.csv, ")
    report.keep(store, experiment, store.run(experiment), verdicts)
    assert (
        "Needs Outbrain Click Prediction"
        in report.render(store, EVERY, report.kept(store, EVERY), report.surroundings(store))["patil2019.html"]
    )


def test_a_claim_that_cannot_be_run_is_listed_and_not_measured() -> None:
    claim = PaperClaim("More.", "section 0", lambda runs: pytest.fail("it was measured"), missing="Another program.")
    (verdict,) = judge(dataclasses.replace(TINY, claims=(claim,)), {})
    assert (verdict.status, verdict.missing) == ("not runnable here", "Another program.")


def test_a_claim_without_numbers_is_a_fault() -> None:
    with pytest.raises(EvenhandError, match=r"^P-2a: nothing was measured for 'Less & less\.'$"):
        judge(claiming(), {})


# --- the report -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A report, for tests that only read it."""
    store = Store(tmp_path_factory.mktemp("written") / "quick", quick=True)
    experiment = claiming(finding(True), finding(False))
    runs = store.run(experiment)
    report.keep(store, experiment, runs, judge(experiment, runs))
    report.write(store, {"P-2a": experiment})
    return store


def test_the_report_has_figure_claims_and_verdicts(written: Store) -> None:
    page = (written.folder / "report.html").read_text(encoding="utf-8")
    paper = (written.folder / "patil2019.html").read_text(encoding="utf-8")
    assert "Less &amp; less." in page
    assert '<a href="patil2019.html#P-2a">P-2a</a>' in page
    for part in (
        "Less &amp; less.",
        "regret &lt;b&gt;",
        "less: than 2",
        "undecided",
        "1 of 2 numbers agree",
        "1,234 lanes",
    ):
        assert part in paper
    assert "0.50 to 1.50" in paper
    assert TINY.setting in paper
    assert "evenhand reproduce P-2a --quick --again" in paper
    assert "seed 2019" in paper
    for ending in ("png", "svg"):
        assert (written.folder / "figures" / f"P-2a.{ending}").is_file()


def test_the_report_needs_no_network_and_only_the_files_beside_it(written: Store) -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in written.folder.glob("*.html")}
    assert set(pages) == {"report.html", "patil2019.html"}
    for page in pages.values():
        sources = re.findall(r"(?:src|href)=\"([^\"]*)\"", page)
        assert sources
        for source in sources:
            name, _, place = source.partition("#")
            assert (written.folder / name).exists()
            assert not place or f'id="{place}"' in pages.get(name, page)
        assert not re.search(r"url\(|@import|<script src|<link|//", page.replace("/* */", ""))


def test_contradicted_claims_are_told_first_with_the_number_that_says_so(store: Store) -> None:
    experiment = claiming(finding(True), finding(False, 0.02), finding(False, 0.001))
    runs = store.run(experiment)
    report.keep(store, experiment, runs, judge(experiment, runs))
    pages = report.render(store, {"P-2a": experiment}, report.kept(store, EVERY), report.surroundings(store))
    for page in pages.values():
        assert "what holds in part" in page.lower()
        assert "what the runs contradict" not in page.lower()
        assert "2 of 3 numbers contradict it, most clearly: regret &lt;b&gt;: <b>1.00</b> (0.50 to 1.50)" in page
        assert "; expected: below 2." in page
        assert '<span class="chip holds-in-part">holds in part (1 of 3 numbers)</span>' in page
    assert '<tr data-paper="patil2019" data-status="holds in part">' in pages["report.html"]


def test_the_claims_are_also_for_machines(written: Store) -> None:
    claims = json.loads((written.folder / "claims.json").read_text(encoding="utf-8"))
    assert claims["about"]["version"] == code_version()
    (one,) = claims["experiments"]
    assert (one["id"], one["lanes"], one["horizon"]) == ("P-2a", 3, 50)
    (verdict,) = one["verdicts"]
    assert (verdict["status"], verdict["lanes_needed"]) == ("undecided", 1234)
    kept = dataclasses.asdict(finding(True)) | {"claimed": [None, 2.0], "holds": True, "mark": "agrees"}
    assert verdict["findings"][0] == kept


def test_verdicts_of_another_version_are_left_out(written: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(report.kept(written, EVERY)) == ["P-2a"]
    monkeypatch.setattr(runner, "code_version", lambda *parts: "9.9.9+other")
    assert not report.kept(written, EVERY)


@pytest.mark.slow
def test_an_endless_interval_is_null_for_machines_and_a_word_for_people(store: Store) -> None:
    endless = Finding("it", 1.0, -np.inf, np.inf, 1, "below 2", (-np.inf, 2.0))
    experiment = claiming(endless)
    report.keep(store, experiment, store.run(experiment), judge(experiment, {}))
    finding = report.kept(store, EVERY)["P-2a"]["verdicts"][0]["findings"][0]
    assert (finding["low"], finding["high"]) == (None, None)
    pages = report.render(store, {"P-2a": experiment}, report.kept(store, EVERY), report.surroundings(store))
    assert '<td class="n">none</td>' in pages["patil2019.html"]


# --- what is kept of a full run ---------------------------------------------------------------------------------------


def test_a_quick_run_shows_the_verdict_of_the_full_run_beside_each(store: Store) -> None:
    experiment = claiming(finding(False), finding(True))
    report.keep(store, experiment, store.run(experiment), judge(experiment, {}, quick=True))
    entries = report.kept(store, {"P-2a": experiment})
    (verdict,) = entries["P-2a"]["verdicts"]
    assert (verdict["status"], verdict["full"]) == ("too small to decide", report.full_runs()["P-2a"]["verdicts"][0])
    for page in report.render(store, {"P-2a": experiment}, entries, report.surroundings(store)).values():
        assert f'<span class="chip full">full run: {verdict["full"]}</span>' in page
    sure = claiming(finding(True))
    report.keep(store, sure, store.run(sure), judge(sure, {}, quick=True))
    (decided,) = report.kept(store, {"P-2a": sure})["P-2a"]["verdicts"]
    assert (decided["status"], decided["full"]) == ("confirmed", verdict["full"])


def test_what_was_measured_by_other_code_is_told_on_the_first_page(written: Store) -> None:
    experiment = claiming(finding(True), finding(False))
    known, entries = {"P-2a": experiment}, report.kept(written, EVERY)
    about = report.surroundings(written)
    assert not report.outdated(written, known, entries)
    assert "Not run again" not in report.render(written, known, entries, about)["report.html"]
    for name in ("code", "measured"):
        old = {"P-2a": entries["P-2a"] | {name: "0.0.1+other"}}
        assert report.outdated(written, known, old) == ["P-2a"]
        pages = report.render(written, known, old, about)
        assert "Not run again since the code changed: P-2a." in pages["report.html"]
        assert "Not run again since the code changed." in pages["patil2019.html"]


def test_the_code_of_a_measurement_is_that_of_its_test_and_of_what_it_is_given() -> None:
    def claims(margin: float) -> Experiment:
        claim = PaperClaim("Near.", "section 0", near("p2a", ["FUCB"], "UCB1", "regret", margin))
        return dataclasses.replace(TINY, claims=(claim,))

    other = PaperClaim("Less.", "section 0", less("p2a", ["FUCB"], ["UCB1"], ["regret"]))
    assert measured_by(claims(0.1)) == measured_by(claims(0.1))
    others = (claims(0.2), dataclasses.replace(TINY, claims=(other,)))
    assert len({measured_by(one) for one in (claims(0.1), *others)}) == 3


def test_kept_numbers_are_judged_by_the_present_rules_in_the_present_words(written: Store) -> None:
    experiment = claiming(finding(True), finding(False))
    entry = report.kept(written, EVERY)["P-2a"]
    assert judged_again(entry, experiment) == entry
    (claim,) = experiment.claims
    renamed = dataclasses.replace(experiment, claims=(dataclasses.replace(claim, sentence="Fewer."),))
    (now,) = judged_again(entry, renamed)["verdicts"]
    (old,) = judged_again(entry | {"measured": "other"}, renamed)["verdicts"]
    assert (now["sentence"], old["sentence"]) == ("Fewer.", "Less & less.")
    entry["verdicts"][0]["findings"][1] |= {"p_value": 0.0, "mark": "undecided"}
    (wrong,) = judged_again(entry, experiment)["verdicts"]
    assert wrong["words"] == "holds in part (1 of 2 numbers)"


def test_the_kept_verdicts_are_those_of_the_kept_numbers() -> None:
    kept = json.loads((ROOT / "docs/_static/claims.json").read_text(encoding="utf-8"))["experiments"]
    assert [entry["id"] for entry in kept] == IDS
    for entry in kept:
        again = without_infinities(judged_again(entry, EVERY[entry["id"]])["verdicts"])
        assert again == entry["verdicts"], entry["id"]
        assert [verdict["words"] for verdict in again] == report.full_runs()[entry["id"]]["verdicts"]
        assert not any(one["holds"] and one["mark"] != "agrees" for verdict in again for one in verdict["findings"])


# --- the command ------------------------------------------------------------------------------------------------------


def test_without_names_the_experiments_are_listed(tmp_path: Path, evenhand: Evenhand) -> None:
    shown = evenhand("reproduce")
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in IDS)
    listed = json.loads(evenhand("reproduce", "--json").stdout)
    assert [one["id"] for one in listed] == IDS
    assert not any(one["run"] for one in listed)
    times = [(one["quick_seconds"], one["full_seconds"]) for one in listed if one["full_seconds"] is not None]
    assert all(0 < quick <= full for quick, full in times)
    assert max(map(len, shown.stdout.splitlines())) <= 80
    for one in listed:
        assert sum(one["kept"].values()) == len(report.full_runs().get(one["id"], {}).get("verdicts", []))
    assert listed[0]["kept"] == {"confirmed": 3, "holds in part": 1, "contradicted": 1, "open": 0}
    assert not (tmp_path / "reproduction").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["P-2z"], "there is no experiment 'P-2z'; did you mean 'P-2"),
        (["P-2a", "--data", "nowhere"], "there is no file or folder nowhere"),
        (["P-2a", "--out", "file"], "cannot write to the folder"),
    ],
)
def test_what_cannot_be_run_is_told_in_a_line(
    words: list[str], message: str, tmp_path: Path, evenhand: Evenhand
) -> None:
    (tmp_path / "file").touch()
    failed = evenhand("reproduce", *words, "--quick")
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], pytest.param(["--again"], marks=pytest.mark.slow)])
def test_an_interrupt_keeps_what_is_finished(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evenhand.cli.main", "reproduce", "F-4", "--quick", "--jobs", "1", *words]
    # A shell lets its background jobs ignore interrupts, and they would hand that down to the command.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    signal.signal(signal.SIGINT, before)
    first = tmp_path / "reproduction" / "quick" / "results" / EVERY["F-4"].parts[0]
    deadline = time.monotonic() + 300  # the compiled engine may have to be compiled first
    while time.monotonic() < deadline and not (first / "run.json").is_file():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert (
        f"finished runs are saved; {'without --again ' if words else ''}the same command continues from there" in errors
    )
    assert "Traceback" not in errors
    runs = tmp_path / "reproduction" / "quick"
    assert not Store(runs, quick=True).is_there(EVERY["F-4"])
    setup = Store(runs, quick=True).setup(EVERY["F-4"], EVERY["F-4"].parts[0])
    assert Store(runs, quick=True).stamp(EVERY["F-4"].parts[0])["key"] == runner.key(setup)


def movielens_copy(folder: Path, users: int) -> Path:
    """A copy of MovieLens in which every user rated two of the paper's five films, with 2 to 5 stars."""
    folder.mkdir()
    movies = "".join(f'{film},"{title}",Drama\n' for film, title in enumerate(movielens.FILMS))
    (folder / "movies.csv").write_text(f"movieId,title,genres\n{movies}")
    rated = [(user, film % 5) for user in range(users) for film in (user, user + 1 + user % 3)]
    lines = "".join(f"{user},{film},{2 + (user + film) % 4},0\n" for user, film in rated)
    (folder / "ratings.csv").write_text(f"userId,movieId,rating,timestamp\n{lines}")
    return folder


@pytest.mark.slow
def test_the_films_run_on_the_user_s_own_ratings(tmp_path: Path, evenhand: Evenhand) -> None:
    data = movielens_copy(tmp_path / "ml", users=120)
    done = evenhand("reproduce", "H-6", "H-7", "--quick", "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    ratings, regret = json.loads(done.stdout)["experiments"]
    for one in (ratings, regret):
        assert one["horizon"] == 120  # every user once
        assert one["data"] == "The user's movielens data."
        judged = [verdict["status"] for verdict in one["verdicts"] if not verdict["missing"]]
        assert set(judged) <= {"confirmed", "too small to decide"}
        given = [claim.missing for claim in EVERY[one["id"]].claims if claim.missing]  # no matter which data there are
        assert [verdict["missing"] for verdict in one["verdicts"] if verdict["missing"]] == given
    received, index = ratings["tables"]
    assert (received["title"], index["title"]) == ("mean rating received (stars)", "index at the end (stars)")
    stars = movielens.load(data).stars
    for table in (received, index):
        assert [table["rows"][film][0] for film in movielens.FILMS] == [
            [pytest.approx(mean), None] for mean in np.nanmean(stars, axis=0)
        ]
        assert table["columns"][:3] == ["true", "TSCSF-B, balanced η", "LFG, balanced η"]
        assert all(0.0 <= mean <= 5.0 for cells in table["rows"].values() for mean, _ in cells)
    shown = evenhand("reproduce", "H-6", "--quick", "--data", data)
    assert "h6-h7, 1 of 1" not in shown.stderr  # what has been run is kept
    assert "mean rating received (stars)" in shown.stdout
    assert "Index at the end (stars)" in (tmp_path / "reproduction" / "quick" / "huang2020.html").read_text()


def test_ratings_of_too_few_users_are_refused(tmp_path: Path, evenhand: Evenhand) -> None:
    failed = evenhand("reproduce", "H-7", "--quick", "--data", movielens_copy(tmp_path / "ml", users=99))
    assert failed.returncode == 2
    assert "99 users rated the films, the experiment needs 100; give a larger copy" in failed.stderr
    assert "Traceback" not in failed.stderr


# --- a part of the real work ------------------------------------------------------------------------------------------


def scaled(run: CompletedRun) -> bool:
    """Whether everything in a run is finite that must be."""
    return all(np.isfinite(record.pulls).all() for record in run.results.policies.values())


@pytest.mark.parametrize("name", thinned(IDS, lambda name: name in FIRST))
def test_every_experiment_runs_is_judged_and_drawn(name: str, tmp_path: Path) -> None:
    experiment = dataclasses.replace(EVERY[name], quick=QuickSize(lanes=3, horizon=240))
    store = Store(tmp_path, quick=True)
    runs = store.run(experiment)
    assert list(runs) == list(experiment.parts)
    assert all(map(scaled, runs.values()))
    verdicts = judge(experiment, runs)
    assert [verdict.sentence for verdict in verdicts] == [claim.sentence for claim in experiment.claims]
    report.keep(store, experiment, runs, verdicts)
    page = report.render(store, EVERY, report.kept(store, EVERY), report.surroundings(store))[
        f"{experiment.paper}.html"
    ]
    assert all(verdict.status in page for verdict in verdicts)


# --- findings in words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", FOLDERS)
def test_the_sentences_about_a_paper_rest_on_claims_that_there_are(paper: str) -> None:
    for one in sentences()[paper]:
        for name, number, status, *marks in one["rests_on"]:
            assert EVERY[name].paper == paper
            assert all(set(letters) <= set("acun") for letters in marks)
            assert number < len(EVERY[name].claims)
            assert status in STATUSES


def test_the_kept_report_bears_out_every_sentence() -> None:
    claims = json.loads((ROOT / "docs/_static/claims.json").read_text(encoding="utf-8"))
    entries = {one["id"]: one for one in claims["experiments"]}
    for paper in FOLDERS:
        shown = [one["text"] for one in findings(paper, entries)]
        assert shown == [one["text"] for one in sentences()[paper]]
