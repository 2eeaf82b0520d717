"""The rounds of a strand as one compiled loop. The formulas are those of the parts, compiled.

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

from typing import Any

import numpy as np

from evenhand.core import exponential
from evenhand.core.source import Root, digest_of
from evenhand.core.validate import TINY
from evenhand.environment import recursions
from evenhand.environment.profiles import OFTEN
from evenhand.policy import accounts, evidence, fairness, index, merit, weights
from evenhand.simulation.compiled import rules as codes
from evenhand.simulation.compiled.generator import (
    U,
    beta,
    bits,
    called,
    compiled,
    constants,
    lasting,
    leap,
    shuffle,
    step,
    uniform,
)

#: The part of the scale by which two forms of a value can differ, and much more.
MARGIN = 1e-12
#: Lanes of which each is looked at by itself.
FEW = 8

upper_bound, at_best = compiled(index.upper_bound), compiled(evidence.at_best)
plays_owed, whole_power = compiled(accounts.owed), compiled(merit.whole_power)
exp = compiled(exponential.formula(*exponential.TABLES, int, max))
grown, mixed = compiled(weights.grown), compiled(fairness.mixed)
hinge, hard, soft = compiled(fairness.hinge), compiled(fairness.hard), compiled(fairness.soft)
running, slid = compiled(recursions.running), compiled(recursions.slid)
fading, evenly = compiled(recursions.fading), compiled(recursions.evenly)


@compiled
def owed(fraction, rounds, pulls):  # type: ignore[no-untyped-def]
    """See `evenhand.policy.accounts.owed`."""
    return plays_owed(fraction, rounds, pulls, 0.0)


@compiled
def drawn(rules):  # type: ignore[no-untyped-def]
    """Whether scores are drawn."""
    return rules.score == codes.BETA or rules.score == codes.BOTH


@compiled
def evidence_of(rules, counts, arm, lane):  # type: ignore[no-untyped-def]
    """The sum and the number of rewards that an arm is judged by."""
    if counts.at_once:
        return counts.earned[arm, lane], counts.pulls[arm, lane]
    number = counts.received[arm, lane] if rules.missing == codes.IGNORED else counts.pulls[arm, lane]
    total = counts.successes[arm, lane] if drawn(rules) else counts.rewards[arm, lane]
    if rules.missing == codes.AS_ONE:
        total = at_best(total, counts.pulls[arm, lane], counts.received[arm, lane])
    return total, number


@compiled
def learn_from(rules, counts, arm, lane, total, number):  # type: ignore[no-untyped-def]
    """What scores are made from, by the evidence of an arm."""
    known = counts.known
    if drawn(rules):
        known[0, arm, lane], known[1, arm, lane] = constants(rules.prior[0, arm] + total)
        known[2, arm, lane], known[3, arm, lane] = constants(rules.prior[1, arm] + number - total)
        if rules.score == codes.BOTH:
            total = counts.successes[arm, lane]
            known[4, arm, lane], known[5, arm, lane] = constants(rules.prior[0, arm] + total)
            known[6, arm, lane], known[7, arm, lane] = constants(rules.prior[1, arm] + number - total)
    elif rules.score != codes.INTERVAL:
        divided = number if number > 1.0 else 1.0
        if rules.score == codes.BOUND:
            part = 1.0 / divided
            known[0, arm, lane], known[1, arm, lane] = total * part, np.sqrt(part)
        else:
            known[0, arm, lane] = total / divided


@compiled
def learn(rules, counts, arm, lane):  # type: ignore[no-untyped-def]
    """What scores are made from, after a play or a reward of an arm."""
    total, number = evidence_of(rules, counts, arm, lane)
    learn_from(rules, counts, arm, lane, total, number)
    if rules.score == codes.BOUND and counts.pulls[arm, lane] == 0.0:
        counts.known[0, arm, lane], counts.known[1, arm, lane] = np.inf, 0.0


@called
def learn_all(rules, counts):  # type: ignore[no-untyped-def]
    """What scores are made from, before the first round."""
    for arm in range(rules.arms):
        for lane in range(counts.pulls.shape[1]):
            learn(rules, counts, arm, lane)


@compiled
def exact_score(rules, counts, arm, lane, growth):  # type: ignore[no-untyped-def]
    """The bound or the mean of an arm by the formula of the part."""
    total, number = evidence_of(rules, counts, arm, lane)
    divided = number if number > 1.0 else 1.0
    if rules.score == codes.MEAN:
        return total / divided
    new = rules.score == codes.BOUND and counts.pulls[arm, lane] == 0.0
    bound = np.inf if new else upper_bound(total, divided, growth)
    return 1.0 if rules.clip and bound > 1.0 else bound


@compiled
def bonus(rules, counts, arm, lane, done):  # type: ignore[no-untyped-def]
    """What is added to the score of an arm for what it is owed."""
    kind, fraction, pulls = rules.owed, rules.fractions[arm, lane], counts.pulls[arm, lane]
    if kind in (codes.LINEAR, codes.HINGE):
        deficit = owed(fraction, done, pulls)
        share = hinge(deficit, 0.0) if kind == codes.HINGE else deficit
    else:
        due, deficit = fraction * (done + 1), owed(fraction, done + 1, pulls)
        share = hard(deficit, due) if kind == codes.HARD else soft(deficit, due)
    return rules.rates[arm, lane] * share


@compiled
def queue_length(rules, counts, arm, lane, done):  # type: ignore[no-untyped-def]
    """The plays that wait in the queue of an arm."""
    if rules.owed == codes.EXACT:
        return max(owed(rules.fractions[arm, lane], done, counts.pulls[arm, lane]), 0.0)
    if rules.owed == codes.RECURSIVE:
        rounds, plays = counts.queue_rounds[arm, lane], counts.queue_plays[arm, lane]
        return owed(rules.fractions[arm, lane], rounds, plays)
    return 0.0


@compiled
def queued(length, rate, score):  # type: ignore[no-untyped-def]
    """A queue and the score, weighed; without a weight the score does not count, not even an infinite one."""
    return length + (rate * score if rate > 0.0 else 0.0)


@compiled
def claimed(rules, counts, arm, lane, done, score):  # type: ignore[no-untyped-def]
    """The value of an arm with a score."""
    if rules.owed >= codes.WEIGHED:
        return queued(queue_length(rules, counts, arm, lane, done), rules.rates[arm, lane], score)
    if rules.owed >= codes.LINEAR:
        return score + bonus(rules, counts, arm, lane, done)
    return score


@compiled
def wake(rules, world, counts, draws, scratch, place, high, low, more, less):  # type: ignore[no-untyped-def]
    """Who can play: a score of −∞ for the others. The optima of those who can are counted."""
    drawn = world.awake.size > 0
    for lane in range(scratch.score.shape[1]):
        code = 0
        for arm in range(rules.arms):
            if drawn:
                high, low = step(high, low, more, less)
                can = (bits(high, low) >> U(11)) < world.awake[arm, lane]
            else:
                can = draws.available[place, lane, arm]
            scratch.score[arm, lane] = 0.0 if can else -np.inf
            code |= int(can) << arm
        if world.by_set.size:
            counts.optima[0, lane] += world.by_set[0, code]
            counts.optima[1, lane] += world.by_set[1, code]
    return high, low


@called
def look_back(rules, world, counts, draws, scratch, place):  # type: ignore[no-untyped-def]
    """Count what every arm that can play would earn."""
    for lane in range(scratch.scale.size):
        for arm in range(rules.arms):
            if not world.sleeping or scratch.score[arm, lane] > -np.inf:
                counts.potential[arm, lane] += draws.rewards[place, lane, arm]


@called
def draw_scores(score, known, draw, everybody, first, last, own):  # type: ignore[no-untyped-def]
    """A draw from a posterior, of one or two, of every arm that can play in some lanes; of two it is their mean."""
    high, low, more, less, row = own[0], own[1], own[2], own[3], 4 * draw
    for lane in range(first, last):
        for arm in range(score.shape[0]):
            if everybody or score[arm, lane] > -np.inf:
                won_b, won_c = known[row, arm, lane], known[row + 1, arm, lane]
                lost_b, lost_c = known[row + 2, arm, lane], known[row + 3, arm, lane]
                x, high, low = beta(won_b, won_c, lost_b, lost_c, high, low, more, less)
                score[arm, lane] = (score[arm, lane] + x) / 2.0 if draw else x
    own[0], own[1] = high, low


@compiled
def known_score(rules, counts, arm, lane, root):  # type: ignore[no-untyped-def]
    """The score of an arm, as far as it is known without the formula."""
    value = counts.known[0, arm, lane]
    if rules.score == codes.BOUND:
        value += root * counts.known[1, arm, lane]
        value = 1.0 if rules.clip and value > 1.0 else value
    return value


@compiled
def rank(best, top, second, arm, lane, value):  # type: ignore[no-untyped-def]
    """Take in the value of an arm: the first arm of the largest value so far, and the two largest values."""
    largest = top[lane]
    larger = value > largest
    lower = largest if larger else value
    second[lane] = lower if lower > second[lane] else second[lane]
    best[lane] = arm if larger else best[lane]
    top[lane] = value if larger else largest


@compiled
def look(rules, world, counts, scratch, growth, done):  # type: ignore[no-untyped-def]
    """The values of all arms, and who leads in each lane: by value, and among those that go first."""
    root, score, lanes = np.sqrt(growth), scratch.score, scratch.scale.size
    above = rules.tolerance
    for lane in range(lanes):
        scratch.best[lane], scratch.top[lane], scratch.second[lane] = -1, -np.inf, -np.inf
    for lane in range(lanes):
        scratch.first[lane], scratch.lead[lane], scratch.follow[lane] = -1, above, above
    for lane in range(lanes):
        scratch.scale[lane] = 4.0 * root
    for arm in range(rules.arms):
        if not drawn(rules):
            if world.sleeping:
                for lane in range(lanes):
                    value = known_score(rules, counts, arm, lane, root)
                    score[arm, lane] = value if score[arm, lane] > -np.inf else -np.inf
            else:
                for lane in range(lanes):
                    score[arm, lane] = known_score(rules, counts, arm, lane, root)
        if rules.owed >= codes.WEIGHED:
            for lane in range(lanes):
                length, rate = queue_length(rules, counts, arm, lane, done), rules.rates[arm, lane]
                value = queued(length, rate, score[arm, lane])
                value = value if score[arm, lane] > -np.inf else -np.inf
                score[arm, lane] = value
                scratch.scale[lane] = max(scratch.scale[lane], 4.0 * (length + rate * root))
        elif rules.owed >= codes.LINEAR:
            for lane in range(lanes):
                added = bonus(rules, counts, arm, lane, done)
                score[arm, lane] += added
                scratch.scale[lane] = max(scratch.scale[lane], 4.0 * (root + abs(added)))
        elif rules.owed == codes.FIRST:
            for lane in range(lanes):
                behind = owed(rules.fractions[arm, lane], done, counts.pulls[arm, lane])
                scratch.priority[arm, lane] = behind if score[arm, lane] > -np.inf else -np.inf
            for lane in range(lanes):
                rank(scratch.first, scratch.lead, scratch.follow, arm, lane, scratch.priority[arm, lane])
        for lane in range(lanes):
            rank(scratch.best, scratch.top, scratch.second, arm, lane, score[arm, lane])


@compiled
def look_at(rules, world, counts, scratch, lane, growth, done):  # type: ignore[no-untyped-def]
    """What `look` does, in one lane."""
    root, above = np.sqrt(growth), rules.tolerance
    best, top, second, scale = -1, -np.inf, -np.inf, 4.0 * root
    first, lead, follow = -1, above, above
    for arm in range(rules.arms):
        value, behind = scratch.score[arm, lane], -np.inf
        if value > -np.inf or not world.sleeping:
            value = value if drawn(rules) else known_score(rules, counts, arm, lane, root)
            if rules.owed >= codes.WEIGHED:
                length, rate = queue_length(rules, counts, arm, lane, done), rules.rates[arm, lane]
                value, scale = queued(length, rate, value), max(scale, 4.0 * (length + rate * root))
            elif rules.owed >= codes.LINEAR:
                added = bonus(rules, counts, arm, lane, done)
                value, scale = value + added, max(scale, 4.0 * (root + abs(added)))
            elif rules.owed == codes.FIRST:
                behind = owed(rules.fractions[arm, lane], done, counts.pulls[arm, lane])
        scratch.score[arm, lane], scratch.priority[arm, lane] = value, behind
        second = max(second, min(value, top))
        best, top = (arm, value) if value > top else (best, top)
        follow = max(follow, min(behind, lead))
        first, lead = (arm, behind) if behind > lead else (first, lead)
    scratch.best[lane], scratch.top[lane], scratch.second[lane], scratch.scale[lane] = best, top, second, scale
    scratch.first[lane], scratch.lead[lane], scratch.follow[lane] = first, lead, follow


@compiled
def look_again(best, top, second, values, low_lane, high_lane, above):  # type: ignore[no-untyped-def]
    """Who leads in some lanes among those that do not play yet."""
    for lane in range(low_lane, high_lane):
        best[lane], top[lane], second[lane] = -1, above, above
    for arm in range(values.shape[0]):
        for lane in range(low_lane, high_lane):
            rank(best, top, second, arm, lane, values[arm, lane])


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
def leader_of(rules, counts, scratch, lane, done, growth, high, low, more, less):  # type: ignore[no-untyped-def]
    """The arm that goes before the others of a lane that do not play yet; −1 where none can play."""
    arm, lead, values = scratch.best[lane], scratch.top[lane], scratch.score
    second, exactly = scratch.second[lane], True
    if rules.owed == codes.FIRST and scratch.first[lane] >= 0:
        arm, lead, values, second = scratch.first[lane], scratch.lead[lane], scratch.priority, scratch.follow[lane]
    elif rules.score == codes.BOUND and second > -np.inf:
        margin = MARGIN * (abs(lead) + abs(second) + scratch.scale[lane])
        lead, exactly = lead - margin if margin < np.inf else lead, False
    near = second >= lead if not exactly else rules.ties != codes.LOWEST and second == lead
    if second > -np.inf and near:
        return decide_tie(rules, counts, values, lane, lead, done, growth, not exactly, high, low, more, less)
    return arm


@compiled
def choose(rules, world, counts, scratch, low_lane, high_lane, done, growth, high, low, more, less):  # type: ignore[no-untyped-def]
    """The arms that play in some lanes, which have been looked at."""
    at, below = high, low
    for pick in range(rules.plays):
        if pick:
            look_again(scratch.best, scratch.top, scratch.second, scratch.score, low_lane, high_lane, -np.inf)
            if rules.owed == codes.FIRST:
                first, lead, follow, above = scratch.first, scratch.lead, scratch.follow, rules.tolerance
                look_again(first, lead, follow, scratch.priority, low_lane, high_lane, above)
        at, below = high, low
        for lane in range(low_lane, high_lane):
            arm = leader_of(rules, counts, scratch, lane, done, growth, at, below, more, less)
            if rules.ties == codes.RANDOM:
                at, below = leap(at, below, world.ties, 0)
            scratch.playing[pick, lane] = arm
            if rules.plays > 1 and arm >= 0:
                scratch.score[arm, lane] = -np.inf
                scratch.priority[arm, lane] = -np.inf
    return at, below


@compiled
def deserved(rules, mean):  # type: ignore[no-untyped-def]
    """The merit of a mean; see `evenhand.policy.merit`."""
    if rules.merit == codes.STRAIGHT:
        return rules.other + rules.rate * mean
    return 1.0 + rules.rate * whole_power(mean, int(rules.other))


@called
def limit(rules, scratch, lane):  # type: ignore[no-untyped-def]
    """Shares of at most one; see `evenhand.policy.shares.proportional`."""
    chance, merits = scratch.chance, scratch.priority
    for arm in range(rules.arms):
        chance[arm, lane] = 1.0 if chance[arm, lane] >= 1.0 else 0.0
    over = True
    while over:
        left, total, over = float(rules.plays), 0.0, False
        for arm in range(rules.arms):
            if chance[arm, lane] == 1.0:
                left -= 1.0
            else:
                total += merits[arm, lane]
        part = left / (total if total > 0.0 else 1.0)
        for arm in range(rules.arms):
            if chance[arm, lane] != 1.0:
                chance[arm, lane] = merits[arm, lane] * part
                over = over or chance[arm, lane] > 1.0
        if over:
            for arm in range(rules.arms):
                chance[arm, lane] = 1.0 if chance[arm, lane] >= 1.0 else 0.0


@called
def share(rules, counts, scratch, done, growth, high, low, more, less):  # type: ignore[no-untyped-def]
    """The chance of every arm, in proportion to its merit."""
    chance, merits, lanes = scratch.chance, scratch.priority, scratch.scale.size
    for lane in range(lanes):
        scratch.scale[lane], scratch.top[lane], scratch.lead[lane] = 0.0, 0.0, 1.0
    if rules.epsilon > 0.0:
        for lane in range(lanes):
            high, low = step(high, low, more, less)
            scratch.lead[lane] = 0.0 if uniform(high, low) < rules.epsilon else 1.0
    for arm in range(rules.arms):
        for lane in range(lanes):
            score = scratch.score[arm, lane] if drawn(rules) else exact_score(rules, counts, arm, lane, growth)
            merits[arm, lane] = deserved(rules, min(max(score * scratch.lead[lane], 0.0), 1.0))
            scratch.scale[lane] += merits[arm, lane]
    for arm in range(rules.arms):
        for lane in range(lanes):
            chance[arm, lane] = merits[arm, lane] * (rules.plays / scratch.scale[lane])
            scratch.top[lane] = max(scratch.top[lane], chance[arm, lane])
    for lane in range(lanes):
        if scratch.top[lane] > 1.0:
            limit(rules, scratch, lane)
    if done < rules.once:
        for arm in range(rules.arms):
            place = (arm - done * rules.plays) % rules.arms
            for lane in range(lanes):
                chance[arm, lane] = 1.0 if place < rules.plays else 0.0
    return high, low


@called
def settle(rules, scratch, own):  # type: ignore[no-untyped-def]
    """Arms are drawn by their shares; see `evenhand.policy.selection.DependentRounding`."""
    chance, order, value, lanes = scratch.chance, scratch.order, scratch.value, scratch.scale.size
    high, low, more, less, spare = own[0], own[1], own[2], own[3], own[4]
    for lane in range(lanes):
        high, low, spare = shuffle(order, lane, high, low, more, less, spare)
        for place in range(rules.arms):
            value[place, lane] = chance[order[place, lane], lane]
            scratch.score[place, lane] = 0.0
    number = rules.arms
    while number > 1:
        for lane in range(lanes):
            for pair in range(number // 2):
                here, there, first = order[2 * pair, lane], order[2 * pair + 1, lane], value[2 * pair, lane]
                total = first + value[2 * pair + 1, lane]
                over = 1.0 if total > 1.0 else 0.0
                high, low = step(high, low, more, less)
                stays = uniform(high, low) * abs(total - 2.0 * over) < abs(first - over)
                scratch.score[there if stays else here, lane] = over
                order[pair, lane], value[pair, lane] = here if stays else there, total - over
            if number % 2:
                order[number // 2, lane], value[number // 2, lane] = order[number - 1, lane], value[number - 1, lane]
        number -= number // 2
    for lane in range(lanes):
        scratch.score[order[0, lane], lane] = 1.0 if value[0, lane] > 0.5 else 0.0
        pick = 0
        for arm in range(rules.arms):
            if scratch.score[arm, lane] > 0.0 and pick < rules.plays:
                scratch.playing[pick, lane] = arm
                pick += 1
        for rest in range(pick, rules.plays):
            scratch.playing[rest, lane] = -1
    own[0], own[1], own[4] = high, low, spare


@called
def regret(rules, world, counts, scratch):  # type: ignore[no-untyped-def]
    """What the round adds to the regrets against fair shares by merit."""
    chance, lanes = scratch.chance, scratch.scale.size
    if rules.owed != codes.MERIT:
        chance[:, :] = 0.0
        for pick in range(rules.plays):
            for lane in range(lanes):
                if scratch.playing[pick, lane] >= 0:
                    chance[scratch.playing[pick, lane], lane] = 1.0
    for lane in range(lanes):
        scratch.top[lane], scratch.lead[lane] = 0.0, 0.0
    for arm in range(rules.arms):
        for lane in range(lanes):
            missing = world.deserved[arm, lane] - chance[arm, lane]
            scratch.top[lane] += missing * world.gains[arm, lane]
            scratch.lead[lane] += abs(missing)
    for lane in range(lanes):
        counts.regrets[0, lane] += max(scratch.top[lane], 0.0)
        counts.regrets[1, lane] += scratch.lead[lane]


@compiled
def goes_on(rules, world, holds, scratch, lane):  # type: ignore[no-untyped-def]
    """Whether a lane plays on: the hold has rounds left, and everybody in it can play, and no one else could."""
    if not (holds.coins or holds.left[lane] > 0.0):
        return False
    if not world.sleeping:
        return True
    playing, awake = 0, 0
    for arm in range(rules.arms):
        awake += int(scratch.score[arm, lane] > -np.inf)
    for pick in range(rules.plays):
        arm = scratch.playing[pick, lane]
        if arm >= 0:
            playing += 1
            if scratch.score[arm, lane] < 0.0:
                return False
    return playing > 0 and playing >= min(rules.plays, awake)


@compiled
def begin(rules, holds, scratch, lane):  # type: ignore[no-untyped-def]
    """A new hold in a lane; where everybody sleeps none begins."""
    begun = scratch.playing[0, lane] >= 0
    if begun and not holds.by_arm:
        for arm in range(rules.arms):
            holds.times[arm, lane] += 1.0
    least = np.inf
    for pick in range(rules.plays):
        arm = scratch.playing[pick, lane]
        if arm >= 0:
            if holds.by_arm:
                holds.times[arm, lane] += 1.0
            least = min(least, holds.times[arm, lane])
    if begun:
        holds.left[lane] = holds.sizes[int(least)]
    holds.counted[lane] = np.ceil(holds.left[lane] / 2.0)


@called
def advance(rules, counts, plans, lane):  # type: ignore[no-untyped-def]
    """The next run of a lane: the next arm still in, the bridge after the last, the next phase after the bridge."""
    arm, phase, bridge = plans.arm[lane], plans.phase[lane], plans.bridge[lane]
    if arm >= 0 and not bridge:
        plans.sums[arm, lane] += counts.rewards[arm, lane] - plans.before[lane]
    following, best, most, left = -1, -1, -np.inf, 0
    length = plans.lengths[phase]
    for other in range(rules.arms):
        if plans.alive[other, lane]:
            if following < 0 and (bridge or other > arm):
                following = other
            mean = plans.sums[other, lane] / length
            if mean > most:
                best, most = other, mean
    if bridge:
        phase += 1
    run = plans.lengths[phase] - plans.lengths[phase - 1]
    plans.phase[lane], plans.bridge[lane] = phase, following < 0
    if following < 0:
        for other in range(rules.arms):
            stays = plans.sums[other, lane] / length >= most - 2.0**-phase
            plans.alive[other, lane] = plans.alive[other, lane] and stays
            left += int(plans.alive[other, lane])
        run = run if left > 1 else np.inf
        following = best
    plans.arm[lane], plans.left[lane], plans.before[lane] = following, run, counts.rewards[following, lane]


@compiled
def count_queues(rules, counts, scratch, lane):  # type: ignore[no-untyped-def]
    """Every queue grows by the arm's fraction and shrinks by one where it plays; an empty one begins anew."""
    for arm in range(rules.arms):
        counts.queue_rounds[arm, lane] += 1.0
    for pick in range(rules.plays):
        if scratch.playing[pick, lane] >= 0:
            counts.queue_plays[scratch.playing[pick, lane], lane] += 1.0
    for arm in range(rules.arms):
        rounds, plays = counts.queue_rounds[arm, lane], counts.queue_plays[arm, lane]
        waiting = owed(rules.fractions[arm, lane], rounds, plays) > 0.0
        counts.queue_rounds[arm, lane], counts.queue_plays[arm, lane] = rounds * waiting, plays * waiting


@compiled
def arriving(arrivals, lane, now, total):  # type: ignore[no-untyped-def]
    """The sum that arrives in a lane in a round, counted from 1, by the profile; ``total`` is what was earned in it."""
    kind, first, last, past = arrivals.kind, arrivals.first, arrivals.last, arrivals.past
    rows, sums, weighted = len(past), arrivals.total, arrivals.weighted
    if kind >= codes.RANDOM_DELAY:
        arrived = past[now % rows, lane]
        past[now % rows, lane] = 0.0
        return arrived
    if kind == codes.DISCOUNTED:
        sums[lane] = fading(sums[lane], arrivals.factor, past[0, lane])
        past[0, lane] = total
        return (1.0 - arrivals.factor) * sums[lane]
    past[now % rows, lane] = total
    if kind == codes.BOUNDED:
        sums[lane] = running(sums[lane], past[(now - first) % rows, lane], past[(now - last) % rows, lane])
        return sums[lane] / (last - first)
    if now % max(last, OFTEN) == 0:
        sums[lane], weighted[lane] = 0.0, 0.0
        for ago in range(1, last + 1):
            part = past[(now - ago) % rows, lane]
            sums[lane] += part
            weighted[lane] += (ago if kind == codes.INCREASING else last + 1 - ago) * part
    else:
        new, old = past[(now - 1) % rows, lane], past[(now - last - 1) % rows, lane]
        sums[lane], weighted[lane] = slid(last, kind == codes.INCREASING, sums[lane], weighted[lane], new, old)
    return weighted[lane] * (2.0 / (last * (last + 1)))


@compiled
def send(arrivals, due, place, won):  # type: ignore[no-untyped-def]
    """A reward under way, unless it would arrive after the last round."""
    if due < len(arrivals.due):
        spot, row = arrivals.free[0], int(due)
        arrivals.free[0] = arrivals.following[spot]
        arrivals.free[1] -= 1
        arrivals.following[spot] = arrivals.due[row]
        arrivals.due[row], arrivals.places[spot], arrivals.won[spot] = spot, place, won


@compiled
def credit(rules, counts, holds, memory, arm, lane, reward):  # type: ignore[no-untyped-def]
    """A reward that arrives for an arm counts, unless its lane is in the half of a hold in which none does."""
    if holds.halved and not holds.left[lane] < holds.counted[lane]:
        return 0.0
    counts.received[arm, lane] += 1.0
    counts.rewards[arm, lane] += reward
    if memory.heard.size:
        memory.heard[lane] += reward
    return reward


@compiled
def deliver(rules, counts, holds, memory, arrivals, row):  # type: ignore[no-untyped-def]
    """What arrives at the end of a round."""
    spot, lanes = arrivals.due[row], counts.pulls.shape[1]
    while spot >= 0:
        place = arrivals.places[spot]
        credit(rules, counts, holds, memory, place // lanes, place % lanes, 1.0 * arrivals.won[spot])
        learn(rules, counts, place // lanes, place % lanes)
        following = arrivals.following[spot]
        arrivals.following[spot] = arrivals.free[0]
        arrivals.free[0] = spot
        arrivals.free[1] += 1
        spot = following


@compiled
def take(rules, world, counts, draws, place, done, arm, lane, high, low):  # type: ignore[no-untyped-def]
    """An arm plays and earns; what it earns, and its plays and rewards so far."""
    pulls = counts.pulls[arm, lane]
    if counts.worst.size and done:  # an arm is furthest behind in the round before it plays
        counts.worst[arm, lane] = max(counts.worst[arm, lane], world.promised[arm, lane] * done - pulls)
    if world.limits.size:
        ahead, behind = leap(high, low, world.steps, arm)
        reward = 1.0 if (bits(ahead, behind) >> U(11)) < world.limits[arm, lane] else 0.0
    else:
        reward = draws.rewards[place, lane, arm]
    earned = counts.earned[arm, lane] + reward
    counts.pulls[arm, lane], counts.earned[arm, lane] = pulls + 1.0, earned
    return reward, pulls + 1.0, earned


@compiled
def earn(rules, world, counts, holds, memory, arrivals, draws, scratch, at, high, low, late, late_low):  # type: ignore[no-untyped-def]
    """The chosen arms of a lane play and earn, and what becomes known of it is counted."""
    place, done, lane = at
    total, number, streak, lanes = 0.0, 0, 0.0, counts.pulls.shape[1]
    if arrivals.kind == codes.HELD_BACK:
        streak, arrivals.streak[lane] = arrivals.streak[lane], 0.0
    for pick in range(rules.plays):
        arm = scratch.playing[pick, lane]
        if arm < 0:
            break
        reward, _, _ = take(rules, world, counts, draws, place, done, arm, lane, high, low)
        number += 1
        if arrivals.kind == codes.AT_ONCE:
            if not counts.at_once:
                seen = (reward - world.low) / world.width if world.scaled else reward
                scratch.arrived[pick, lane] = credit(rules, counts, holds, memory, arm, lane, seen)
        elif arrivals.kind == codes.SINGLY:
            send(arrivals, done + draws.late[place, lane, arm], arm * lanes + lane, reward > 0.0)
        elif arrivals.kind == codes.RANDOM_DELAY:
            ahead, behind = leap(late, late_low, world.late_steps, arm)
            delay = int(evenly(arrivals.first, arrivals.last, uniform(ahead, behind)))
            arrivals.past[(done + 1 + delay) % len(arrivals.past), lane] += reward
        elif arrivals.kind == codes.HELD_BACK:
            delay = 1
            if arm == arrivals.best[lane]:
                arrivals.streak[lane] = streak + 1.0
                delay = arrivals.last if streak + 1.0 >= 3 * arrivals.last else 1
            arrivals.past[(done + 1 + delay) % len(arrivals.past), lane] += reward
        else:
            total += reward
    if arrivals.kind > codes.SINGLY:
        share = arriving(arrivals, lane, done + 1, total) / max(number, 1)
        for pick in range(number):
            credit(rules, counts, holds, memory, scratch.playing[pick, lane], lane, share)
    for pick in range(number):
        learn(rules, counts, scratch.playing[pick, lane], lane)


@called
def try_rewards(rules, counts, scratch, own):  # type: ignore[no-untyped-def]
    """Trials of the rewards, in the order of the arms; see `evenhand.policy.index.BetaSample`."""
    high, low = own[0], own[1]
    for lane in range(scratch.scale.size):
        for arm in range(rules.arms):
            for pick in range(rules.plays):
                if scratch.playing[pick, lane] == arm:
                    reward = min(max(scratch.arrived[pick, lane], 0.0), 1.0)
                    whole = np.floor(reward)
                    if reward > whole:
                        high, low = step(high, low, own[2], own[3])
                        whole += 1.0 if uniform(high, low) < reward - whole else 0.0
                    counts.successes[arm, lane] += whole
                    learn(rules, counts, arm, lane)
    own[0], own[1] = high, low


@called
def go_by_plan(rules, counts, plans, scratch):  # type: ignore[no-untyped-def]
    """The arms that play in all lanes, by their phases."""
    for lane in range(scratch.scale.size):
        if plans.left[lane] <= 0.0:
            advance(rules, counts, plans, lane)
        plans.left[lane] -= 1.0
        scratch.playing[0, lane] = plans.arm[lane]


@compiled
def end_holds(rules, world, holds, phase, first, scratch, own):  # type: ignore[no-untyped-def]
    """The lanes whose holds are over; where a phase begins, all are, and what ends later is already known."""
    marked = False
    high, low, chance = own[0], own[1], 1.0 / (2.0 * phase.delay) if holds.coins else 0.0
    if first and phase.restarts and not holds.coins:
        holds.times[:, :] = 0.0
    for lane in range(scratch.scale.size):
        ends = first and phase.restarts
        if holds.coins and not ends:
            high, low = step(high, low, own[2], own[3])
            marked, quiet = uniform(high, low) < chance, holds.left[lane]
            ends = marked and quiet >= 2.0 * phase.delay - 1.0
            holds.left[lane] = 0.0 if marked else quiet + 1.0
        scratch.anew[lane] = ends or not goes_on(rules, world, holds, scratch, lane)
    own[0], own[1] = high, low


@compiled
def settle_weight(memory, phase, done, lane):  # type: ignore[no-untyped-def]
    """What the last choice of a lane earned goes into the weight of its arm; see `evenhand.policy.weights`."""
    arm, credit = memory.arm[lane], min(memory.earned[lane], memory.rounds[lane])
    if phase.window:
        credit = 0.0
        for ago in range(phase.window, 0, -1):
            if done >= ago:
                credit += memory.recent[(done - ago) % len(memory.recent), lane]
        credit = credit / (2.0 * phase.window) - phase.less
    if arm >= 0:
        memory.logs[arm, lane] = grown(memory.logs[arm, lane], phase.rate, credit, memory.propensity[lane])


@compiled
def mix(rules, memory, phase, scratch, lane):  # type: ignore[no-untyped-def]
    """The chance of every arm of a lane that can play, even where all are 0, and their sum."""
    chance, top, total, whole = scratch.priority, -np.inf, 0.0, 0.0
    for arm in range(rules.arms):
        top = max(top, memory.logs[arm, lane] / phase.scale)
    for arm in range(rules.arms):
        below = memory.logs[arm, lane] / phase.scale - top
        chance[arm, lane] = exp(below)
        total += chance[arm, lane]
    for arm in range(rules.arms):
        share = chance[arm, lane] / total if total > 0.0 else 1.0 / rules.arms
        asleep = scratch.score[arm, lane] == -np.inf
        chance[arm, lane] = 0.0 if asleep else mixed(share, phase.mixing, rules.arms)
        whole += chance[arm, lane]
    if not whole > 0.0:
        for arm in range(rules.arms):
            chance[arm, lane] = 0.0 if scratch.score[arm, lane] == -np.inf else 1.0
            whole += chance[arm, lane]
    return whole


@compiled
def draw_by_weights(rules, memory, phase, first, scratch, done, own):  # type: ignore[no-untyped-def]
    """The arms that play in the lanes whose holds are over, by their weights."""
    chance, forgets = scratch.priority, first and phase.forgets
    high, low = own[0], own[1]
    for lane in range(scratch.scale.size):
        memory.heard[lane] = 0.0
        if scratch.anew[lane] and not forgets:
            settle_weight(memory, phase, done, lane)
        if forgets and (scratch.anew[lane] or not phase.window):
            memory.logs[:, lane] = 0.0
        if not scratch.anew[lane]:
            continue
        total = mix(rules, memory, phase, scratch, lane)
        high, low = step(high, low, own[2], own[3])
        draw, place, ahead = uniform(high, low) * total, 0, 0.0
        for arm in range(rules.arms):
            ahead += chance[arm, lane]
            if ahead > draw:
                place = arm
                break
        arm = -1 if scratch.score[place, lane] == -np.inf else place
        scratch.playing[0, lane], memory.arm[lane] = arm, arm
        memory.propensity[lane] = 1.0 if arm < 0 else chance[arm, lane] / max(total, TINY)
        memory.earned[lane], memory.rounds[lane] = 0.0, 0.0
    own[0], own[1] = high, low


@compiled
def hear(memory, phase, done):  # type: ignore[no-untyped-def]
    """Remember the rewards of a round."""
    for lane in range(memory.heard.size):
        memory.earned[lane] += memory.heard[lane]
        memory.rounds[lane] += 1.0
        if phase.window:
            memory.recent[done % len(memory.recent), lane] = memory.heard[lane]


@compiled
def choose_anew(rules, world, counts, scratch, done, growth, own):  # type: ignore[no-untyped-def]
    """The arms that play in the lanes whose holds are over."""
    for lane in range(scratch.scale.size):
        if scratch.anew[lane]:
            if drawn(rules):
                draw_scores(scratch.score, counts.known, 0, not world.sleeping, lane, lane + 1, own)
            look_at(rules, world, counts, scratch, lane, growth, done)
            high, low, more, less = own[0], own[1], own[2], own[3]
            high, low = choose(rules, world, counts, scratch, lane, lane + 1, done, growth, high, low, more, less)
            own[0], own[1] = high, low


@compiled
def draw_all(rules, world, counts, scratch, own):  # type: ignore[no-untyped-def]
    """The scores that are drawn, in all lanes."""
    if drawn(rules):
        for draw in range(2 if rules.score == codes.BOTH else 1):
            draw_scores(scratch.score, counts.known, draw, not world.sleeping, 0, scratch.scale.size, own)


@compiled
def choose_by_merit(rules, world, counts, scratch, done, growth, own):  # type: ignore[no-untyped-def]
    """The arms that play in all lanes, by their shares."""
    draw_all(rules, world, counts, scratch, own)
    own[0], own[1] = share(rules, counts, scratch, done, growth, own[0], own[1], own[2], own[3])
    settle(rules, scratch, own)


@compiled
def choose_all(rules, world, counts, scratch, done, growth, own):  # type: ignore[no-untyped-def]
    """The arms that play in all lanes."""
    lanes = scratch.scale.size
    draw_all(rules, world, counts, scratch, own)
    if lanes < FEW:
        for lane in range(lanes):
            look_at(rules, world, counts, scratch, lane, growth, done)
    else:
        look(rules, world, counts, scratch, growth, done)
    high, low, more, less = own[0], own[1], own[2], own[3]
    own[0], own[1] = choose(rules, world, counts, scratch, 0, lanes, done, growth, high, low, more, less)


@called
def keep(rules, world, counts, kept, row, rounds):  # type: ignore[no-untyped-def]
    """What there is at a checkpoint."""
    for lane in range(counts.pulls.shape[1]):
        worst = -np.inf
        for arm in range(rules.arms):
            kept.pulls[row, lane, arm] = int(counts.pulls[arm, lane])
            kept.earned[row, lane, arm] = counts.earned[arm, lane]
            if counts.potential.size:
                kept.potential[row, lane, arm] = counts.potential[arm, lane]
            if counts.worst.size:
                behind = world.promised[arm, lane] * rounds - counts.pulls[arm, lane]
                counts.worst[arm, lane] = max(counts.worst[arm, lane], behind)
                worst = max(worst, counts.worst[arm, lane])
        kept.worst[row, lane, 0] = worst
        for one in range(2):
            kept.optima[one, row, lane] = counts.optima[one, lane]
            kept.regrets[one, row, lane] = counts.regrets[one, lane]


def loops(version: str) -> tuple[Any, Any]:
    """The loops over rounds and lanes, which play some rounds in the lanes of a strand, after so many before.

    They return the next checkpoint, and are kept compiled while no code that they use has changed.
    """

    def play_plainly(rules, world, counts, draws, scratch, kept, streams, marks, row, before):  # type: ignore[no-untyped-def]
        """`play` where a choice lasts a round, by scores, and each reward is known at once: less to do is faster."""
        version  # noqa: B018
        if not counts.at_once:  # which the compiler knows from here on
            return row
        lanes, own = counts.pulls.shape[1], streams[codes.POLICY]
        high, low = streams[codes.REWARDS, 0], streams[codes.REWARDS, 1]
        awake, awake_low = streams[codes.AWAKE, 0], streams[codes.AWAKE, 1]
        more, less = streams[codes.AWAKE, 2], streams[codes.AWAKE, 3]
        if before == 0:
            learn_all(rules, counts)
        for place in range(len(draws.growth)):
            done, growth = before + place, draws.growth[place]
            if world.sleeping:
                awake, awake_low = wake(rules, world, counts, draws, scratch, place, awake, awake_low, more, less)
            choose_all(rules, world, counts, scratch, done, growth, own)
            for lane in range(lanes):
                if rules.owed == codes.RECURSIVE:
                    count_queues(rules, counts, scratch, lane)
                for pick in range(rules.plays):
                    arm = scratch.playing[pick, lane]
                    if arm < 0:
                        break
                    _, plays, rewards = take(rules, world, counts, draws, place, done, arm, lane, high, low)
                    learn_from(rules, counts, arm, lane, rewards, plays)
                high, low = leap(high, low, world.steps, rules.arms)
            if row < len(marks) and marks[row] == done + 1:
                keep(rules, world, counts, kept, row, done + 1)
                row += 1
        streams[codes.REWARDS, 0], streams[codes.REWARDS, 1] = high, low
        streams[codes.AWAKE, 0], streams[codes.AWAKE, 1] = awake, awake_low
        return row

    def play(  # type: ignore[no-untyped-def]
        rules, world, counts, holds, memory, phase, plans, arrivals, draws, scratch, kept, streams, marks, row, before
    ):
        """All that there are rules for."""
        version  # noqa: B018
        lanes, holding, own = counts.pulls.shape[1], len(holds.left) > 0, streams[codes.POLICY]
        high, low = streams[codes.REWARDS, 0], streams[codes.REWARDS, 1]
        awake, awake_low = streams[codes.AWAKE, 0], streams[codes.AWAKE, 1]
        more, less = streams[codes.AWAKE, 2], streams[codes.AWAKE, 3]
        late, late_low = streams[codes.LATE, 0], streams[codes.LATE, 1]
        if before == 0:
            learn_all(rules, counts)
        for place in range(len(draws.growth)):
            done, growth = before + place, draws.growth[place]
            if world.sleeping:
                awake, awake_low = wake(rules, world, counts, draws, scratch, place, awake, awake_low, more, less)
            if counts.potential.size:
                look_back(rules, world, counts, draws, scratch, place)
            if holding:
                end_holds(rules, world, holds, phase, place == 0, scratch, own)
            if plans.lengths.size:
                go_by_plan(rules, counts, plans, scratch)
            elif rules.owed == codes.MIXED:
                draw_by_weights(rules, memory, phase, place == 0, scratch, done, own)
            elif rules.owed == codes.MERIT:
                choose_by_merit(rules, world, counts, scratch, done, growth, own)
            elif holding:
                choose_anew(rules, world, counts, scratch, done, growth, own)
            else:
                choose_all(rules, world, counts, scratch, done, growth, own)
            if world.deserved.size:
                regret(rules, world, counts, scratch)
            for lane in range(lanes):
                if rules.owed == codes.RECURSIVE:
                    count_queues(rules, counts, scratch, lane)
                if holding and not holds.coins:
                    if scratch.anew[lane]:
                        begin(rules, holds, scratch, lane)
                    holds.left[lane] -= 1.0
                at = place, done, lane
                earn(rules, world, counts, holds, memory, arrivals, draws, scratch, at, high, low, late, late_low)
                high, low = leap(high, low, world.steps, rules.arms)
                if arrivals.kind == codes.RANDOM_DELAY:
                    late, late_low = leap(late, late_low, world.late_steps, rules.arms)
            if arrivals.kind == codes.SINGLY:
                deliver(rules, counts, holds, memory, arrivals, done)
            if memory.heard.size:
                hear(memory, phase, done)
            if counts.trials:
                try_rewards(rules, counts, scratch, own)
            if row < len(marks) and marks[row] == done + 1:
                keep(rules, world, counts, kept, row, done + 1)
                row += 1
        streams[codes.REWARDS, 0], streams[codes.REWARDS, 1] = high, low
        streams[codes.AWAKE, 0], streams[codes.AWAKE, 1] = awake, awake_low
        streams[codes.LATE, 0], streams[codes.LATE, 1] = late, late_low
        return row

    return lasting(play), lasting(play_plainly)


play, play_plainly = loops(digest_of(frozenset({Root(__name__, "loops")})))
