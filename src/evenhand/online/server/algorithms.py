"""The algorithms that allocations can have, as the registry describes them."""

from __future__ import annotations

import inspect
from typing import Any

from fastapi import APIRouter, Response

from evenhand.algorithms.properties import feedback_of, promise_of
from evenhand.algorithms.registry import Algorithm
from evenhand.algorithms.registry import algorithms as registered
from evenhand.online.api import answers
from evenhand.online.api.json import JsonResponse
from evenhand.online.server.dependencies import Anyone, errors

#: Parameters that the service has elsewhere, or not at all: arms cannot be pulled before round 1.
ELSEWHERE = ("plays", "free_start")
#: Types of parameters by their annotations; all others are values such as tables.
TYPES = {"float": "number", "int": "integer", "bool": "boolean", "str": "string", "PerArm": "per_arm"}

router = APIRouter(generate_unique_id_function=lambda route: route.name)


@router.get("/v1/algorithms", responses=errors(), tags=["server"], response_model=answers.Algorithms)
async def algorithms(caller: Anyone) -> Response:
    """List the algorithms that allocations can have, with their promises and parameters."""
    return JsonResponse(described())


def described() -> answers.Algorithms:
    """All algorithms, by name.

    Example:
        >>> (one,) = [one for one in described().algorithms if one.promises == "reward"]
        >>> one.name, [(parameter.name, parameter.type) for parameter in one.parameters if parameter.required]
        ('bandit_q', [('rates', 'per_arm'), ('horizon', 'integer')])
    """
    return answers.Algorithms(tuple(_algorithm(entry) for _, entry in sorted(registered().items())))


def _algorithm(entry: Algorithm) -> answers.AlgorithmInfo:
    about: dict[str, Any] = {"promises": promise_of(entry), "made_for": feedback_of(entry)}
    help_of = entry.parameter_help()
    parameters = tuple(
        _parameter(one, help_of.get(name, "")) for name, one in entry.parameters.items() if name not in ELSEWHERE
    )
    return answers.AlgorithmInfo(entry.name, entry.summary, promise=entry.promise, parameters=parameters, **about)


def _parameter(one: inspect.Parameter, description: str) -> answers.AlgorithmParameter:
    required = one.default is inspect.Parameter.empty
    kind: Any = TYPES.get(str(one.annotation).removesuffix(" | None"), "value")
    default = None if required else one.default
    description = description.replace("``", "").removeprefix("(arms,), ")  # the shape, which the type says
    return answers.AlgorithmParameter(one.name, kind, required, default, description)
