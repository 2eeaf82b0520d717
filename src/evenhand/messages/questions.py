"""The questions whose answers decide which algorithm suits."""

from __future__ import annotations

from .answers import Question

YES_NO = {"no": "no", "yes": "yes"}
QUESTIONS = (
    Question(
        "promise",
        "What do you promise?",
        {
            "share": "a minimum share of the rounds to some arms, kept at every time",
            "long_run": "a minimum share of the rounds to some arms, kept in the long run",
            "price": "a minimum share, unless it costs more than a price",
            "group": "shares to groups of arms, or largest shares",
            "chance": "a minimum probability in every decision",
            "merit": "shares in proportion to how good the arms are",
            "reward": "a reward per round to each arm",
            "none": "nothing: the best arms get all",
        },
    ),
    Question(
        "rewards",
        "When do rewards come?",
        {
            "late": "at once, or later for reasons that have nothing to do with their value",
            "dependent": "late, and good ones come sooner or later than bad ones; each names its decision",
            "unnamed": "the same, and they do not name their decision",
            "sums": "only as the sum of each round, whichever arm earned it",
        },
    ),
    Question(
        "means",
        "Do the arms' mean rewards change?",
        {"fixed": "hardly", "jump": "suddenly, now and then", "drift": "slowly, all the time"},
    ),
    Question("features", "Does each decision have features, such as who asks, or the price of each arm?", YES_NO),
    Question("several", "Do several arms play in a round, or are arms sometimes absent?", YES_NO),
    Question("explainable", "Must every decision follow from numbers that can be shown, without draws?", YES_NO),
)
#: Asked beside the others: it decides not which algorithm suits, but how it is started.
REPORTED = Question(
    "reported",
    "Are failures reported, too?",
    {
        "all": "every reward is sent, also zeros",
        "successes": "only successes, within some time of the decision; what has not come by then was none",
    },
)
