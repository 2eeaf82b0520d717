"""Limits are those of `annotated_types`, which they load when pydantic asks for them."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import annotated_types
import pytest
from pydantic import TypeAdapter

from evenhand.messages import rules

CASES: list[tuple[str, type, tuple[Any, ...]]] = [
    ("Ge", float, (2.0,)),
    ("Gt", float, (2.0,)),
    ("Le", float, (2.0,)),
    ("Lt", float, (2.0,)),
    ("MinLen", str, (2,)),
    ("MaxLen", str, (2,)),
    ("Len", tuple[float, ...], (2, 2)),
]


@pytest.mark.parametrize(("name", "kind", "limits"), CASES, ids=[name for name, *_ in CASES])
def test_pydantic_reads_a_limit_as_that_of_annotated_types(name: str, kind: type, limits: tuple[Any, ...]) -> None:
    own: partial[rules.Limit] = getattr(rules, name)
    theirs = getattr(annotated_types, name)
    adapter: Any = TypeAdapter  # of types that are made here
    schemas = [adapter(Annotated[kind, one(*limits)]).json_schema() for one in (own, theirs)]
    assert schemas[0] == schemas[1] != adapter(kind).json_schema()


@pytest.mark.parametrize("text", ["0", "1", "0.05,.1", "5%,10%,100.5%", ".5%", ",".join(["0.1"] * 20)])
def test_shares_are_numbers_from_0_to_1_or_percentages(text: str) -> None:
    assert rules.matches(rules.SHARES, text)


@pytest.mark.parametrize("text", ["", "2", "0.1,", "1000%", "0,1 ,2", "٥%", "0.٥", ",".join(["0.1"] * 21)])
def test_other_texts_are_no_shares(text: str) -> None:
    assert not rules.matches(rules.SHARES, text)
    with pytest.raises(ValueError, match="should match pattern"):
        TypeAdapter(Annotated[str, rules.Form(pattern=rules.SHARES)]).validate_python(text)
