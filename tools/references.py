"""Whether estimators of logs agree with other implementations of the same formulas, to 1e-10; `nox -s references`.

``references.py write FILE`` runs with sb-obp and vw-estimators, in an environment that has NumPy 1 and not this
package: a log by Python's own random numbers, a model of the rewards, and what the two estimate from them.
``references.py check FILE`` compares the estimates of this package.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

ROUNDS, ITEMS, TAU = 2000, 5, 3.0
CLOSE = 1e-10


def log_of_draws() -> dict[str, Any]:
    """Items, rewards and propensities of a log whose chances change, a target's chances, and a model."""
    draws = random.Random(7)
    found: dict[str, Any] = {"item": [], "reward": [], "propensity": [], "target": [], "model": []}
    for _ in range(ROUNDS):
        chances, target = ([draws.random() + 0.05 for _ in range(ITEMS)] for _ in range(2))
        chances, target = ([one / sum(values) for one in values] for values in (chances, target))
        item = draws.choices(range(ITEMS), chances)[0]
        found["item"].append(item)
        found["reward"].append(round(draws.gauss(item, 1.0), 3))
        found["propensity"].append(chances[item])
        found["target"].append(target)
        found["model"].append([place + draws.gauss(0.0, 0.3) for place in range(ITEMS)])
    return found


def write(path: Path) -> int:
    """The log, and what sb-obp and vw-estimators estimate from it."""
    import numpy as np
    from estimators.bandits import ips, snips  # type: ignore[import-not-found]
    from obp import ope  # type: ignore[import-not-found]

    log = log_of_draws()
    item, reward, propensity = (np.array(log[name]) for name in ("item", "reward", "propensity"))
    target, model = (np.array(log[name])[:, :, np.newaxis] for name in ("target", "model"))
    common = {"reward": reward, "action": item, "pscore": propensity, "action_dist": target}
    both = common | {"estimated_rewards_by_reg_model": model}
    weight = target[np.arange(ROUNDS), item, 0] / propensity
    found = {
        "obp ips": ope.InverseProbabilityWeighting().estimate_policy_value(**common),
        "obp snips": ope.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**common),
        "obp dr": ope.DoublyRobust().estimate_policy_value(**both),
        "obp sndr": ope.SelfNormalizedDoublyRobust().estimate_policy_value(**both),
        "obp switch, clip": ope.SwitchDoublyRobust(tau=TAU).estimate_policy_value(**both),
    }
    for name, estimator in (("vw ips", ips.Estimator()), ("vw snips", snips.Estimator())):
        for row in range(ROUNDS):
            estimator.add_example(propensity[row], reward[row], weight[row] * propensity[row])
        found[name] = estimator.get()
    path.write_text(json.dumps({"log": log, "estimates": {name: float(one) for name, one in found.items()}}))
    return 0


def check(path: Path) -> int:
    """Compare this package's estimates with those in the file; the exit status is 1 where one differs."""
    import numpy as np

    from evenhand.bandit.evaluation.estimators import ESTIMATORS, limited
    from evenhand.bandit.evaluation.followed import Followed
    from evenhand.bandit.evaluation.log import Log

    kept = json.loads(path.read_text())
    item, reward, propensity, target, model = (
        np.array(kept["log"][name]) for name in ("item", "reward", "propensity", "target", "model")
    )
    rows = np.arange(ROUNDS)
    log = Log("", tuple(map(str, range(ITEMS))), item, reward, propensity, rows, np.ones((1, ITEMS), bool), rows * 0)
    played = target[rows, item]
    one = Followed(
        "target", log, played, played / propensity, model[rows, item], (target * model).sum(axis=1), target.mean(axis=0)
    )
    differ = 0
    for name, value in kept["estimates"].items():
        estimator = name.split()[1].strip(",")
        ours = ESTIMATORS[estimator][0](limited(one, TAU if "clip" in name else None, estimator)).value
        differ += abs(ours - value) > CLOSE
        print(f"{name:18} {value:.12f} {ours:.12f} {'differs' * (abs(ours - value) > CLOSE)}")
    return int(differ > 0)


if __name__ == "__main__":
    mode, file = sys.argv[1], Path(sys.argv[2])
    sys.exit(check(file) if mode == "check" else write(file))
