"""A log that is sent to the service: what a promise would cost by it; nothing of it is kept."""

from __future__ import annotations

from dataclasses import replace

from evenhand.messages.prices import LogPrice
from evenhand.messages.requests import PriceRequest


def priced_log(message: PriceRequest) -> LogPrice:
    """The price by the log of a request, and what an allocation that starts from it knows."""
    from evenhand.bandit.evaluation.columns import Reading
    from evenhand.bandit.evaluation.learning import counts_of
    from evenhand.bandit.evaluation.log import parse
    from evenhand.bandit.evaluation.price import PROMISES, price_of
    from evenhand.bandit.evaluation.priced import facts_of

    limits = None if message.rewards is None else (message.rewards[0], message.rewards[1])
    log = parse(message.log, Reading(dict(message.columns), message.window, message.missing, limits))
    facts = facts_of(log)
    assert facts.fit is not None
    price = price_of(replace(facts, world=None), PROMISES if message.promises is None else message.promises)
    counts = {arm: {"plays": float(plays), "sum": total} for arm, (plays, total) in counts_of(log).items()}
    return LogPrice(price, facts.fit.limits, counts, log.notes)
