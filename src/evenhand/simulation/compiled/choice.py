"""Which arms play: those of the largest values, or of the largest arrears.

A bound is looked at twice. First by what is known of it since the arm's last reward, ``S/M + sqrt(g) · sqrt(1/M)``:
an addition and a product, for all lanes at a time. Where the second largest value is within the error of this, those
that may be the largest are worked out by the formula of the part, ``sqrt(g/M) + S/M``. So the arm that plays is the
one that the formula names:

Let u = 2⁻⁵³. Each of the two forms rounds five times and adds terms of ``|S/M|`` and ``sqrt(g/M) ≤ sqrt(g)``, so they
differ by at most ``8 u (|v| + 2 sqrt(g))`` for a value v. A bonus c that is added, or a rate w by which a queue weighs
the score, rounds twice more: ``8 u (|v| + 2 |c| + 2 sqrt(g))`` and ``8 u (|v| + 2 length + 4 w sqrt(g))``. `MARGIN`
is a thousand times 8 u, and the scale at hand is at least these sums for every arm whose value could be the largest.
"""

from __future__ import annotations

import numpy as np

from evenhand.policy.accounts import BILLION
from evenhand.simulation.compiled import rules as codes
from evenhand.simulation.compiled.generator import U, bits, called, compiled, leap, step
from evenhand.simulation.compiled.scores import (
    arrears,
    bonus,
    claimed,
    draw_all,
    draw_scores,
    drawn,
    exact_score,
    known_score,
    learn_played,
    queue_length,
    queued,
)

by_bounds = compiled(codes.by_bounds)
#: The part of the scale by which two forms of a value can differ, and much more.
MARGIN = 1e-12
#: Lanes of which each is looked at by itself.
FEW = 8


@compiled
def taken_in(best, top, second, arm, one, other):  # type: ignore[no-untyped-def]
    """The first arm of the largest value so far, and the two largest values, with those of an arm and the next one."""
    higher, lower = other if other > one else one, one if other > one else other
    left = top if higher > top else higher
    leader = arm + 1 if other > one else arm
    second = lower if lower > second else second
    return leader if higher > top else best, higher if higher > top else top, left if left > second else second


@compiled
def rank(best, top, second, values, low_lane, high_lane, above):  # type: ignore[no-untyped-def]
    """Who leads in some lanes: the first arm of the largest value above a limit, and the two largest values.

    Two arms are taken in at a time, so that those who lead are read and written half as often.
    """
    arms = values.shape[0]
    for lane in range(low_lane, high_lane):
        best[lane], top[lane], second[lane] = -1, above, above
    for arm in range(0, arms - 1, 2):
        for lane in range(low_lane, high_lane):
            one, other = values[arm, lane], values[arm + 1, lane]
            best[lane], top[lane], second[lane] = taken_in(best[lane], top[lane], second[lane], arm, one, other)
    if arms % 2:
        for lane in range(low_lane, high_lane):
            one = values[arms - 1, lane]
            best[lane], top[lane], second[lane] = taken_in(best[lane], top[lane], second[lane], arms - 1, one, -np.inf)


@compiled
def rank_behind(rules, counts, scratch, done):  # type: ignore[no-untyped-def]
    """Who is furthest behind in each lane, where what is due is the same in all of them."""
    first, lead = scratch.first, scratch.lead
    for lane in range(lead.size):
        first[lane], lead[lane] = -1, rules.tolerance
    for arm in range(0, rules.arms, 2):
        two = min(arm + 1, rules.arms - 1)
        due, other_due = arrears(rules.fractions[arm, 0], done, 0.0), arrears(rules.fractions[two, 0], done, 0.0)
        for lane in range(lead.size):
            one, other = due - counts.pulls[arm, lane] * BILLION, other_due - counts.pulls[two, lane] * BILLION
            behind = other if other > one else one
            first[lane] = (two if other > one else arm) if behind > lead[lane] else first[lane]
            lead[lane] = behind if behind > lead[lane] else lead[lane]


@compiled
def rank_at(best, top, second, values, lane, above):  # type: ignore[no-untyped-def]
    """What `rank` does, in one lane."""
    arms, leader, largest, following = values.shape[0], -1, above, above
    for arm in range(0, arms - 1, 2):
        one, other = values[arm, lane], values[arm + 1, lane]
        leader, largest, following = taken_in(leader, largest, following, arm, one, other)
    if arms % 2:
        leader, largest, following = taken_in(leader, largest, following, arms - 1, values[arms - 1, lane], -np.inf)
    best[lane], top[lane], second[lane] = leader, largest, following


@compiled
def look_at_bounds(rules, counts, scratch, lane, root, done):  # type: ignore[no-untyped-def]
    """What `look_at` does where `by_bounds` holds; it takes half as long."""
    leader, top, second, first, lead = -1, -np.inf, -np.inf, -1, rules.tolerance
    for arm in range(0, rules.arms - 1, 2):
        one, other = known_score(rules, counts, arm, lane, root), known_score(rules, counts, arm + 1, lane, root)
        scratch.score[arm, lane], scratch.score[arm + 1, lane] = one, other
        leader, top, second = taken_in(leader, top, second, arm, one, other)
    if rules.arms % 2:
        scratch.score[rules.arms - 1, lane] = one = known_score(rules, counts, rules.arms - 1, lane, root)
        leader, top, second = taken_in(leader, top, second, rules.arms - 1, one, -np.inf)
    scratch.best[lane], scratch.top[lane], scratch.second[lane], scratch.scale[lane] = leader, top, second, 4.0 * root
    if rules.owed == codes.FIRST:
        for arm in range(rules.arms):
            behind = arrears(rules.fractions[arm, 0], done, counts.pulls[arm, lane])
            first, lead = arm if behind > lead else first, behind if behind > lead else lead
        scratch.first[lane], scratch.lead[lane] = first, lead


@called
def same_evidence(values, pulls, earned, best, lane, cut):  # type: ignore[no-untyped-def]
    """Whether all arms that come near the leader of a lane have its plays and rewards, and so its bound.

    Where rewards are 0 or 1 hardly any others come near. Nothing branches, as no branch could be foreseen.
    """
    plays, total, same = pulls[best, lane], earned[best, lane], True
    for arm in range(values.shape[0]):
        same &= (values[arm, lane] < cut) | ((pulls[arm, lane] == plays) & (earned[arm, lane] == total))
    return same


@compiled
def look_again(best, top, second, values, low_lane, high_lane, above):  # type: ignore[no-untyped-def]
    """Who leads in some lanes among those that do not play yet."""
    if high_lane - low_lane < FEW:
        for lane in range(low_lane, high_lane):
            rank_at(best, top, second, values, lane, above)
    else:
        rank(best, top, second, values, low_lane, high_lane, above)


@compiled
def look(rules, world, counts, scratch, low_lane, high_lane, growth, done):  # type: ignore[no-untyped-def]
    """The values of all arms, and who leads in some lanes: by value, and among those that go first."""
    root, score, every = np.sqrt(growth), scratch.score, by_bounds(rules, world.sleeping)
    for lane in range(low_lane, high_lane):
        scratch.scale[lane] = 4.0 * root
    for arm in range(rules.arms):
        if not drawn(rules):
            if world.sleeping:
                for lane in range(low_lane, high_lane):
                    value = known_score(rules, counts, arm, lane, root)
                    score[arm, lane] = value if score[arm, lane] > -np.inf else -np.inf
            else:
                for lane in range(low_lane, high_lane):
                    score[arm, lane] = known_score(rules, counts, arm, lane, root)
        if rules.owed >= codes.WEIGHED:
            for lane in range(low_lane, high_lane):
                length, rate = queue_length(rules, counts, arm, lane, done), rules.rates[arm, lane]
                value = queued(length, rate, score[arm, lane])
                value = value if score[arm, lane] > -np.inf else -np.inf
                score[arm, lane] = value
                scratch.scale[lane] = max(scratch.scale[lane], 4.0 * (length + rate * root))
        elif rules.owed >= codes.LINEAR:
            for lane in range(low_lane, high_lane):
                added = bonus(rules, counts, arm, lane, done)
                score[arm, lane] += added
                scratch.scale[lane] = max(scratch.scale[lane], 4.0 * (root + abs(added)))
        elif rules.owed == codes.FIRST and not every:
            for lane in range(low_lane, high_lane):
                behind = arrears(rules.fractions[arm, lane], done, counts.pulls[arm, lane])
                scratch.priority[arm, lane] = behind if score[arm, lane] > -np.inf else -np.inf
    look_again(scratch.best, scratch.top, scratch.second, score, low_lane, high_lane, -np.inf)
    if rules.owed == codes.FIRST and every:
        rank_behind(rules, counts, scratch, done)
    elif rules.owed == codes.FIRST:
        first, lead, follow, above = scratch.first, scratch.lead, scratch.follow, rules.tolerance
        look_again(first, lead, follow, scratch.priority, low_lane, high_lane, above)


@compiled
def decide_tie(rules, counts, values, lane, cut, done, growth, work_out, high, low, more, less):  # type: ignore[no-untyped-def]
    """The arm of the largest value among those of a lane that are not below a limit, by the rule for ties."""
    best, most, order = -1, -np.inf, 0.0
    for arm in range(rules.arms):
        if rules.ties == codes.RANDOM:
            high, low = step(high, low, more, less)
        value = values[arm, lane]
        if value > -np.inf and value >= cut:
            if work_out:
                value = claimed(rules, counts, arm, lane, done, exact_score(rules, counts, arm, lane, growth))
            turn = 0.0
            if rules.ties == codes.FEWEST:
                turn = counts.pulls[arm, lane]
            elif rules.ties == codes.RANDOM:
                turn = float(bits(high, low) >> U(11))
            if best < 0 or value > most or (value == most and turn < order):
                best, most, order = arm, value, turn
    return best


@compiled
def lead(rules, scratch, pick, low_lane, high_lane):  # type: ignore[no-untyped-def]
    """The arms that go before the others of some lanes that do not play yet; −1 where none can play.

    Where others come near, ``cut`` is the least value from which on they do, else −∞. Each loop touches few arrays, as
    the compiler makes vectors only where it is cheap to see that they do not overlap.
    """
    cut, top, second = scratch.cut, scratch.top, scratch.second
    for lane in range(low_lane, high_lane):
        scratch.playing[pick, lane] = scratch.best[lane]
    if rules.score == codes.BOUND:
        for lane in range(low_lane, high_lane):
            margin = MARGIN * (abs(top[lane]) + abs(second[lane]) + scratch.scale[lane])
            least = top[lane] - margin if margin < np.inf else top[lane]
            cut[lane] = least if second[lane] >= least and second[lane] > -np.inf else -np.inf
    else:
        for lane in range(low_lane, high_lane):
            cut[lane] = top[lane] if rules.ties != codes.LOWEST and second[lane] == top[lane] else -np.inf
    if rules.owed == codes.FIRST:
        for lane in range(low_lane, high_lane):
            behind = scratch.first[lane] >= 0
            scratch.playing[pick, lane] = scratch.first[lane] if behind else scratch.playing[pick, lane]
        for lane in range(low_lane, high_lane):
            cut[lane] = -np.inf if scratch.first[lane] >= 0 else cut[lane]
        if rules.ties != codes.LOWEST:
            for lane in range(low_lane, high_lane):
                if scratch.first[lane] >= 0 and scratch.follow[lane] == scratch.lead[lane]:
                    cut[lane] = scratch.lead[lane]


@compiled
def choose(rules, world, counts, scratch, low_lane, high_lane, done, growth, high, low, more, less):  # type: ignore[no-untyped-def]
    """The arms that play in some lanes, which have been looked at."""
    at, below, bounds = high, low, counts.at_once and by_bounds(rules, world.sleeping)
    for pick in range(rules.plays):
        if pick:
            look_again(scratch.best, scratch.top, scratch.second, scratch.score, low_lane, high_lane, -np.inf)
            if rules.owed == codes.FIRST:
                first, most, follow, above = scratch.first, scratch.lead, scratch.follow, rules.tolerance
                look_again(first, most, follow, scratch.priority, low_lane, high_lane, above)
        at, below = high, low
        lead(rules, scratch, pick, low_lane, high_lane)
        for lane in range(low_lane, high_lane):
            cut = scratch.cut[lane]
            if cut > -np.inf and not (
                bounds and same_evidence(scratch.score, counts.pulls, counts.earned, scratch.best[lane], lane, cut)
            ):
                behind = rules.owed == codes.FIRST and scratch.first[lane] >= 0
                values, work_out = scratch.score, rules.score == codes.BOUND and not behind
                if behind:
                    values = scratch.priority
                scratch.playing[pick, lane] = decide_tie(
                    rules, counts, values, lane, cut, done, growth, work_out, at, below, more, less
                )
            if rules.ties == codes.RANDOM:
                at, below = leap(at, below, world.ties, 0)
            arm = scratch.playing[pick, lane]
            if rules.plays > 1 and arm >= 0:
                scratch.score[arm, lane] = -np.inf
                scratch.priority[arm, lane] = -np.inf
    return at, below


@compiled
def choose_all(rules, world, counts, scratch, done, growth, own):  # type: ignore[no-untyped-def]
    """The arms that play in all lanes."""
    lanes = scratch.scale.size
    draw_all(rules, world, counts, scratch, own)
    if lanes < FEW and by_bounds(rules, world.sleeping):
        for lane in range(lanes):
            look_at_bounds(rules, counts, scratch, lane, np.sqrt(growth), done)
    else:
        look(rules, world, counts, scratch, 0, lanes, growth, done)
    high, low, more, less = own[0], own[1], own[2], own[3]
    own[0], own[1] = choose(rules, world, counts, scratch, 0, lanes, done, growth, high, low, more, less)


@compiled
def next_anew(anew, lane):  # type: ignore[no-untyped-def]
    """The next lane that chooses, from one on. In a loop of its own the others cost nothing."""
    while lane < anew.size and not anew[lane]:
        lane += 1
    return lane


@compiled
def choose_anew(rules, world, counts, scratch, done, growth, own):  # type: ignore[no-untyped-def]
    """The arms that play in the lanes whose holds are over."""
    lane = next_anew(scratch.anew, 0)
    while lane < scratch.anew.size:
        learn_played(rules, counts, scratch, lane)  # who has played until now
        if drawn(rules):
            draw_scores(scratch.score, counts.known, 0, not world.sleeping, lane, lane + 1, own)
        look(rules, world, counts, scratch, lane, lane + 1, growth, done)
        high, low, more, less = own[0], own[1], own[2], own[3]
        high, low = choose(rules, world, counts, scratch, lane, lane + 1, done, growth, high, low, more, less)
        own[0], own[1] = high, low
        lane = next_anew(scratch.anew, lane + 1)
