"""What pydantic finds wrong with a request, in this project's words: one sentence for each type of error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from evenhand.errors import nearest
from evenhand.online.service.messages import ALLOCATION, ARM
from evenhand.online.service.parameters import KEY

LONGEST = 200  # letters of a name that are repeated, which is as long as an arm's can be

#: What is wrong where a text has not the form that it must have.
FORMS = {
    ALLOCATION: "must be 1 to 100 letters, digits, dots, dashes and underscores, beginning with a letter or digit",
    ARM: "must have a letter other than spaces",
    KEY: "must be printable letters of ASCII, without spaces",
}
OBJECT, LIST, TEXT = "must be an object", "must be a list", "must be a text"
NUMBER, WHOLE, TRUTH = "must be a number", "must be a whole number", "must be true or false"

#: For each type of error what is wrong; what stands in braces is told by pydantic.
SENTENCES: dict[str, str | Callable[[dict[str, Any]], str]] = {
    "missing": "must be given",
    "model_type": OBJECT,
    "model_attributes_type": OBJECT,
    "dict_type": OBJECT,
    "list_type": LIST,
    "string_type": TEXT,
    "bool_type": TRUTH,
    "bool_parsing": TRUTH,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "finite_number": "must be finite",
    "int_type": WHOLE,
    "int_from_float": WHOLE,
    "int_parsing": WHOLE,
    "int_parsing_size": "has too many digits",
    "greater_than": lambda told: f"must be more than {_figure(told['gt'])}",
    "greater_than_equal": lambda told: f"must be at least {_figure(told['ge'])}",
    "less_than": lambda told: f"must be less than {_figure(told['lt'])}",
    "less_than_equal": lambda told: f"must be at most {_figure(told['le'])}",
    "string_too_short": lambda told: _at_least(told["min_length"], "letters"),
    "string_too_long": "must have at most {max_length} letters",
    "string_pattern_mismatch": lambda told: FORMS.get(told["pattern"], "has not the form that it must have"),
    "too_short": lambda told: _at_least(told["min_length"], "entries"),
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}


def details(error: ValidationError, hint: Any, sent: Any, place: tuple[str, ...], most: int) -> list[tuple[str, str]]:
    """Where a request has no sense, and why.

    Args:
        error: what pydantic has found.
        hint: the type that was asked for.
        sent: what was sent.
        place: where in the request that stands.
        most: how many are told.

    Example:
        >>> from pydantic import TypeAdapter
        >>> from evenhand.online.service.messages import Counted
        >>> try:
        ...     TypeAdapter(Counted).validate_python({"cuont": 3})
        ... except ValidationError as error:
        ...     details(error, Counted, {"cuont": 3}, ("body",), 20)
        [('body.cuont', "there is no field 'cuont'; did you mean 'count'?")]
    """
    forms, chooses = _forms(hint)
    told = []
    for one in islice(error.errors(include_url=False), most):
        location, form = one["loc"], hint
        if one["type"].startswith("union_tag"):  # no form is known, and the error has no place
            told.append((written((*place, chooses)), _choice(one, list(forms))))
            continue
        if forms and location:  # its first part says which form it is, and stands nowhere in the request
            form, location = forms[str(location[0])], location[1:]
        if one["type"] == "extra_forbidden":
            message = _unknown(str(location[-1]), _inside(form, location[:-1]), _sent(sent, location[:-1]), forms)
        else:
            message = sentence(one["type"], one.get("ctx", {}), one["msg"])
        if location[-1:] == ("[key]",) and location[-2] == one["input"]:
            location, message = location[:-2], f"the name {_short(location[-2])!r} {message}"
        told.append((written((*place, *location)), message))
    return told


def sentence(kind: str, told: dict[str, Any], otherwise: str) -> str:
    """What is wrong, by the type of an error and what pydantic tells of it.

    Example:
        >>> sentence("greater_than_equal", {"ge": 1}, "")
        'must be at least 1'
    """
    found = SENTENCES.get(kind, "{otherwise}")
    return found(told) if callable(found) else found.format(**{"otherwise": otherwise} | told)


def written(location: Sequence[str | int]) -> str:
    """A place in a request as one would write it.

    Example:
        >>> written(("body", "reports", 0, "decision"))
        'body.reports[0].decision'
    """
    first, *others = location
    return str(first) + "".join(f"[{one}]" if isinstance(one, int) else f".{_short(one)}" for one in others)


def _forms(hint: Any) -> tuple[dict[str, type[BaseModel]], str]:
    """The forms that a message can have by their tags, and the field that tells which; none where it has but one."""
    union, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    chooses = next((one.discriminator for one in more if getattr(one, "discriminator", None)), None)
    if chooses is None:
        return {}, ""
    found: dict[str, type[BaseModel]] = {}
    for one in get_args(union):
        if get_origin(one) is Annotated:
            found |= {part.tag: get_args(one)[0] for part in get_args(one) if isinstance(part, Tag)}
        else:
            found |= dict.fromkeys(get_args(one.model_fields[chooses].annotation), one)
    return found, chooses if isinstance(chooses, str) else ""


def _inside(hint: Any, location: Sequence[str | int]) -> type[BaseModel]:
    """The model of the object at a place."""
    for part in location:
        if isinstance(hint, type) and issubclass(hint, BaseModel):
            hint = hint.model_fields[str(part)].annotation
        else:  # a list or an object
            hint = get_args(hint)[-1]
    found: type[BaseModel] = hint
    return found


def _sent(sent: Any, location: Sequence[str | int]) -> Any:
    for part in location:
        sent = sent[part]
    return sent


def _unknown(name: str, model: type[BaseModel], sent: Any, forms: dict[str, type[BaseModel]]) -> str:
    """A field that is not there: it belongs to another form of the message, or is a slip of the pen."""
    form = next((tag.removesuffix("…") for tag in forms if tag.endswith("…") and forms[tag] is model), "")
    if form and any(name in other.model_fields for other in forms.values()):
        return f"give either {name!r} or {form!r}, not both"
    free = [field for field in model.model_fields if field not in sent]
    return f"there is no field {_short(name)!r}{nearest(_short(name), free) if free else ' here'}"


def _choice(error: Any, tags: list[str]) -> str:
    choice = ", ".join(tags)
    if error["type"] == "union_tag_not_found":
        return f"must be given, one of {choice}"
    tag = _short(str(error["ctx"]["tag"]))
    return f"there is no {tag!r}{nearest(tag, tags)}"


def _at_least(least: int, what: str) -> str:
    return "must not be empty" if least == 1 else f"must have at least {least} {what}"


def _figure(number: float) -> str:
    """A bound.

    Example:
        >>> _figure(2**31), _figure(1e10), _figure(0.0)
        ('2,147,483,648', '10,000,000,000', '0')
    """
    return f"{number:,}" if isinstance(number, int) else f"{number:,.12g}"


def _short(name: str | int) -> str:
    text = str(name)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
