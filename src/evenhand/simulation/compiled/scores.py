"""The values by which arms are chosen: bounds, means or draws, and what is added for what is owed."""

from __future__ import annotations

import numpy as np

from evenhand.policy import accounts, evidence, fairness, index
from evenhand.simulation.compiled import rules as codes
from evenhand.simulation.compiled.generator import beta, called, compiled, constants

upper_bound, at_best, plays_owed = map(compiled, (index.upper_bound, evidence.at_best, accounts.owed))
hinge, hard, soft = map(compiled, (fairness.hinge, fairness.hard, fairness.soft))


@compiled
def drawn(rules):  # type: ignore[no-untyped-def]
    """Whether scores are drawn."""
    return rules.score == codes.BETA or rules.score == codes.BOTH


@compiled
def owed(fraction, rounds, pulls):  # type: ignore[no-untyped-def]
    """See `evenhand.policy.accounts.owed`."""
    return plays_owed(fraction, rounds, pulls, 0.0, False)


@compiled
def arrears(fraction, rounds, pulls):  # type: ignore[no-untyped-def]
    """By what it is owed an arm goes first, in whole billionths of a play: two of them differ where the plays do."""
    return plays_owed(fraction, rounds, pulls, 0.0, True)


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
def learn_draw(rules, counts, arm, lane, reward, total, number):  # type: ignore[no-untyped-def]
    """What draws are made from after a reward of 1 or 0, which changes one of the two shapes."""
    won = reward > 0.0
    row = 0 if won else 2
    shape = rules.prior[0, arm] + total if won else rules.prior[1, arm] + number - total
    counts.known[row, arm, lane], counts.known[row + 1, arm, lane] = constants(shape)


@compiled
def learn_bounds(rules, counts, scratch):  # type: ignore[no-untyped-def]
    """What bounds are made from after a play in every lane: roots and quotients of many lanes take less time."""
    total, number = scratch.total, scratch.number
    for pick in range(rules.plays):
        for lane in range(total.shape[1]):
            part = 1.0 / number[pick, lane]
            total[pick, lane], number[pick, lane] = total[pick, lane] * part, np.sqrt(part)
        for lane in range(total.shape[1]):
            arm = scratch.playing[pick, lane]
            if arm >= 0:
                counts.known[0, arm, lane], counts.known[1, arm, lane] = total[pick, lane], number[pick, lane]


@compiled
def learn_ahead(known, arm, lane, total, number):  # type: ignore[no-untyped-def]
    """What a bound is made from after a play, and the root and the quotient of the next one.

    Where lanes are few a round waits for them: one lane of UCB1 takes a quarter less if they are there before.
    """
    known[0, arm, lane], known[1, arm, lane] = total * known[2, arm, lane], known[3, arm, lane]
    part = 1.0 / (number + 1.0)
    known[2, arm, lane], known[3, arm, lane] = part, np.sqrt(part)


@compiled
def learn(rules, counts, arm, lane):  # type: ignore[no-untyped-def]
    """What scores are made from, after a play or a reward of an arm."""
    total, number = evidence_of(rules, counts, arm, lane)
    learn_from(rules, counts, arm, lane, total, number)
    if rules.score == codes.BOUND and counts.pulls[arm, lane] == 0.0:
        counts.known[0, arm, lane], counts.known[1, arm, lane] = np.inf, 0.0
        counts.known[2, arm, lane], counts.known[3, arm, lane] = 1.0, 1.0  # of one play


@compiled
def learn_played(rules, counts, scratch, lane):  # type: ignore[no-untyped-def]
    """What the scores of the arms that play in a lane are made from."""
    for pick in range(rules.plays):
        if scratch.playing[pick, lane] >= 0:
            learn(rules, counts, scratch.playing[pick, lane], lane)


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
def known_score(rules, counts, arm, lane, root):  # type: ignore[no-untyped-def]
    """The score of an arm, as far as it is known without the formula."""
    value = counts.known[0, arm, lane]
    if rules.score == codes.BOUND:
        value += root * counts.known[1, arm, lane]
        value = 1.0 if rules.clip and value > 1.0 else value
    return value


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
def draw_all(rules, world, counts, scratch, own):  # type: ignore[no-untyped-def]
    """The scores that are drawn, in all lanes."""
    if drawn(rules):
        for draw in range(2 if rules.score == codes.BOTH else 1):
            draw_scores(scratch.score, counts.known, draw, not world.sleeping, 0, scratch.scale.size, own)
