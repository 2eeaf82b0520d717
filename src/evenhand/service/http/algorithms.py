"""The algorithms that allocations can have, as the registry describes them."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response

from evenhand.core.parts import kinds, parameters_of
from evenhand.messages import answers
from evenhand.messages.questions import QUESTIONS
from evenhand.service.http.dependencies import Anyone, KeyRoute, errors
from evenhand.service.http.problems import JsonResponse

if TYPE_CHECKING:
    from evenhand.algorithms.registry import Algorithm

#: Parameters that the service has elsewhere, or not at all: arms cannot be pulled before round 1.
ELSEWHERE = ("plays", "free_start")
#: Types of parameters by their annotations; all others are values such as tables.
TYPES: dict[str, Any] = {"float": "number", "int": "integer", "bool": "boolean", "str": "string", "PerArm": "per_arm"}
TYPES_OF_KINDS: dict[str, Any] = {**TYPES, "Array": "numbers", "tuple[str, ...]": "names"}
#: The slot of parameters that are tables of a registered kind, by their annotations.
SLOTS = {"MeritLike": "merit"}

SHAPE = re.compile(r"^\((?:arms|points),\), ")  # before a description: the type says it

router = APIRouter(route_class=KeyRoute, generate_unique_id_function=lambda route: route.name)


@router.get("/v1/algorithms", responses=errors(), tags=["server"], response_model=answers.Algorithms)
async def algorithms(caller: Anyone) -> Response:
    """List the algorithms that allocations can have, with promises and parameters, and which of them suits whom."""
    return JsonResponse(described())


def described() -> answers.Algorithms:
    """All algorithms, by name, and which of them suits whom."""
    from evenhand.algorithms.recommendation import recommendations  # when it is asked for
    from evenhand.algorithms.registry import algorithms as registered

    entries = tuple(_algorithm(entry) for _, entry in sorted(registered().items()))
    features = tuple(_kind(name, cls) for name, cls in kinds("feature").items())
    return answers.Algorithms(entries, QUESTIONS, recommendations(), features)


def _algorithm(entry: Algorithm) -> answers.AlgorithmInfo:
    from evenhand.algorithms.properties import feedback_of, promise_of

    about: dict[str, Any] = {"promises": promise_of(entry), "made_for": feedback_of(entry)}
    help_of = entry.parameter_help()
    parameters = tuple(
        _parameter(one, help_of.get(name, "")) for name, one in entry.parameters.items() if name not in ELSEWHERE
    )
    about |= {"promise": entry.promise, "parameters": parameters, "by_features": entry.example().contextual}
    return answers.AlgorithmInfo(entry.name, entry.summary, **about)


def _parameter(one: inspect.Parameter, description: str) -> answers.AlgorithmParameter:
    slot = SLOTS.get(_annotation(one.annotation))
    kinds_of_slot = () if slot is None else tuple(_kind(name, cls) for name, cls in kinds(slot).items())
    type_ = TYPES.get(_annotation(one.annotation), "value")
    return answers.AlgorithmParameter(**_described(one, description), type=type_, kinds=kinds_of_slot)


def _kind(name: str, cls: type) -> answers.Kind:
    """A registered kind; its class is documented as the function of an algorithm is."""
    from evenhand.algorithms.registry import Algorithm

    entry = Algorithm(name, cls)
    help_of, types = entry.parameter_help(), {key: one.type for key, one in parameters_of(cls).items()}
    parameters = tuple(
        answers.KindParameter(
            **_described(one, help_of.get(key, "")), type=TYPES_OF_KINDS.get(_annotation(types[key]), "value")
        )
        for key, one in entry.parameters.items()
    )
    return answers.Kind(name, _plain(entry.summary).rstrip("."), parameters)


def _described(one: inspect.Parameter, description: str) -> dict[str, Any]:
    required = one.default is inspect.Parameter.empty
    default = None if required else one.default
    return {"name": one.name, "required": required, "default": default, "description": _plain(description)}


def _annotation(hint: Any) -> str:
    name = hint.__name__ if isinstance(hint, type) else str(hint)
    return name.removesuffix(" | None")


def _plain(text: str) -> str:
    """Without Markdown, and without the shape, which the type says."""
    return SHAPE.sub("", text.replace("``", ""))
