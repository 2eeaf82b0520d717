"""Arms by merit: what each deserves, who plays by these chances, and the regrets against them."""

from __future__ import annotations

from evenhand.policy import merit
from evenhand.simulation.compiled import rules as codes
from evenhand.simulation.compiled.generator import called, compiled, shuffle, step, uniform
from evenhand.simulation.compiled.scores import draw_all, drawn, exact_score

whole_power = compiled(merit.whole_power)


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


@compiled
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


@compiled
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
                here, there = order[2 * pair, lane], order[2 * pair + 1, lane]
                first, second = value[2 * pair, lane], value[2 * pair + 1, lane]
                total = first + second
                over = total > 1.0
                high, low = step(high, low, more, less)
                ahead = uniform(high, low) * (2.0 - total if over else total) < (1.0 - second if over else first)
                scratch.score[here if ahead == over else there, lane] = over
                order[pair, lane], value[pair, lane] = there if ahead == over else here, total - over
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


@compiled
def choose_by_merit(rules, world, counts, scratch, done, growth, own):  # type: ignore[no-untyped-def]
    """The arms that play in all lanes, by their shares."""
    draw_all(rules, world, counts, scratch, own)
    own[0], own[1] = share(rules, counts, scratch, done, growth, own[0], own[1], own[2], own[3])
    settle(rules, scratch, own)


@compiled
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
