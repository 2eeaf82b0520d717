"""Breaks forty places of the core, one at a time, and runs the tests that should notice: ``nox -s faults``.

Each fault replaces a piece of source that stands once in its file, in a copy of this checkout. A fault that no test
notices, or whose source is no longer there, ends the run with status 1. ``--only WORD`` tries those whose file or new
source has the word; ``--root FOLDER`` breaks another checkout.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SECONDS = 300  # for the tests of one fault


class Fault(NamedTuple):
    """A piece of source, what it becomes, and the tests that should notice, beside the examples of the file."""

    file: str
    source: str
    broken: str
    tests: str


FAULTS = [
    Fault("policy/index.py", "np.sqrt(growth / counts) + sums", "np.sqrt(growth) / counts + sums", "algorithms"),
    Fault("policy/index.py", "tally.pulls == 0.0", "tally.pulls < 0.0", "algorithms"),
    Fault("policy/index.py", "a + sums, b + counts - sums", "a + sums, b + counts", "policy/test_index.py"),
    Fault("policy/index.py", "rewards[fractional] += drawn <", "rewards[fractional] += drawn >", "policy"),
    Fault("policy/index.py", "max(state.time - 1.0, 1.0)", "max(state.time, 1.0)", "policy/test_index.py algorithms"),
    Fault("policy/evidence.py", "return rewards + (pulls - received)", "return rewards + pulls", "policy"),
    Fault("policy/evidence.py", "return tally.rewards, tally.pulls", "return tally.rewards, tally.received", "policy"),
    Fault("policy/forgetting.py", "state.evidence.", "state.tally.", "policy/test_forgetting.py"),
    Fault("policy/since_change.py", "log_likelihood(total, number))", "log_likelihood(total, number + 1.0))", "policy"),
    Fault("policy/kl.py", "self.exploration * np.log(", "-self.exploration * np.log(", "policy/test_index.py algorithms"),
    Fault("policy/confidence.py", "sums / counts + width", "sums / counts + 0.9 * width", "policy/test_confidence.py"),
    Fault("policy/confidence.py", "sums / counts - width, 0.0", "sums / counts + width, 0.0", "policy algorithms"),
    Fault("policy/fairness.py", "deficits(self.fractions, state.round, state), self.tolerance", "deficits(self.fractions, state.round, state)", "policy"),
    Fault("policy/fairness.py", "np.maximum(deficit, 0.0) / (due", "np.maximum(deficit, 0.0) * (due", "policy algorithms"),
    Fault("policy/fairness.py", "rate = rate / state.unit.width", "rate = rate * state.unit.width", "policy bandit"),
    Fault("policy/fairness.py", "memory.rounds *= waiting", "memory.rounds *= ~waiting", "policy algorithms"),
    Fault("policy/fairness.py", "(1.0 - mixing) * share + mixing", "(1.0 - mixing) * share - mixing", "policy"),
    Fault("policy/groups.py", "np.minimum(deficits(self.caps", "np.maximum(deficits(self.caps", "policy bandit"),
    Fault("policy/selection.py", "leads = _at(first, lead) > above", "leads = _at(first, lead) >= above", "policy"),
    Fault("policy/selection.py", "order[..., : self.plays], score", "order[..., : self.plays + 1], score", "policy"),
    Fault("policy/selection.py", "stays = chances * np.abs(total", "stays = 1.0 - chances * np.abs(total", "policy"),
    Fault("policy/selection.py", "return np.where(leads, 1.0, proportional(", "return np.where(leads, 0.9, proportional(", "policy"),
    Fault("policy/shares.py", "left = plays - full.sum(", "left = plays + 0 * full.sum(", "policy"),
    Fault("policy/hold.py", "hold.left -= 1.0", "hold.left -= 2.0", "policy algorithms"),
    Fault("policy/hold.py", "np.ceil(left[lanes] / 2.0)", "np.floor(left[lanes] / 4.0)", "policy algorithms"),
    Fault("policy/schedule.py", "due = state.tally.pulls < self.quotas", "due = state.tally.pulls <= self.quotas", "policy"),
    Fault("policy/weights.py", "np.minimum(memory.earned, memory.rounds) / memory", "np.minimum(memory.earned, memory.rounds) * memory", "algorithms"),
    Fault("policy/composition.py", "state.tally.rewards += feedback.rewards", "state.tally.rewards += feedback.received", "policy"),
    Fault("environment/delays.py", "np.ceil(_lift(edge)) - 1.0, 1.0)", "np.ceil(_lift(edge)) - 1.0, 0.0)", "environment"),
    Fault("environment/delays.py", "0.0, np.inf)", "1.0, np.inf)", "environment"),
    Fault("environment/timing_wheel.py", "if self._now % self._block == 0:", "if self._now % self._block == 1:", "environment"),
    Fault("environment/rewards.py", "winner[..., np.newaxis] == np.arange", "winner[..., np.newaxis] <= np.arange", "environment"),
    Fault("environment/profiles.py", "self._weighted * (2.0 /", "self._weighted * (1.0 /", "environment"),
    Fault("core/cohorts.py", "self.next += self.next * due", "self.next += due", "core policy"),
    Fault("core/streams.py", "spawn(-(-lanes // STRAND))", "spawn(lanes // STRAND + 1)", "core algorithms/test_strands.py"),
    Fault("theory/oracle.py", "float(filled @ gains), shares)", "float(filled @ gains), filled)", "theory"),
    Fault("simulation/measures.py", "run.best_fair - run.expected) / run.round", "run.best - run.expected) / run.round", "simulation/test_metrics.py"),
    Fault("bandit/rewards.py", "statistics.late[place[arm]] += 1.0", "statistics.lost[place[arm]] += 1.0", "bandit"),
    Fault("bandit/pending.py", "return time is not None and time <= now", "return time is not None and time < now", "bandit"),
    Fault("bandit/counts.py", "(self.times[-1] - self.times[first]) /", "(self.times[-1] + self.times[first]) /", "bandit"),
]  # fmt: skip


def main() -> None:
    """Print a line per fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a word of the file or of the new source")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to break")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if options.only in fault.file or options.only in fault.broken]
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        for part in (
            "src",
            "tests",
            "docs",
            "examples",
            "tools",
            "benchmarks",
            "clients",
            "pyproject.toml",
            "README.md",
        ):
            source = options.root / part
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, Path(folder) / part)  # type: ignore[operator]
        for number, fault in enumerate(chosen, start=1):
            found = outcome(Path(folder), fault)
            unnoticed += found != "noticed"
            print(f"{number:3} {found:12} {fault.file}: {fault.broken}", flush=True)
    print(f"{len(chosen) - unnoticed} of {len(chosen)} faults were noticed")
    sys.exit(unnoticed > 0)


def outcome(root: Path, fault: Fault) -> str:
    """Whether the tests notice a fault in a copy of the checkout, which is mended afterwards."""
    path = root / "src" / "evenhand" / fault.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(fault.source) != 1:
        return f"stands {text.count(fault.source)} times"
    path.write_text(text.replace(fault.source, fault.broken), encoding="utf-8")
    tests = [str(path), *(str(root / "tests" / place) for place in fault.tests.split())]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "-p", "no:cacheprovider", *tests]
    surroundings = os.environ | {"PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=root, env=surroundings, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "noticed"  # it no longer ends
    finally:
        path.write_text(text, encoding="utf-8")
    return {0: "UNNOTICED", 1: "noticed", 2: "noticed"}.get(done.returncode, f"status {done.returncode}")


if __name__ == "__main__":
    main()
