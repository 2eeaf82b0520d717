"""Parts of requests outside the body, as several routes take them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Path

from evenhand.online.service.messages import ALLOCATION

KEY = r"^[!-~]+$"

Name = Annotated[
    str,
    Path(
        pattern=ALLOCATION,
        description="of the allocation",
        examples=["drinks"],
    ),
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=KEY,
        description="any text, new for each request: sent again with the same text, the request is not carried out "
        "again, and the answer is that of the first time (for seven days)",
        examples=["7c1f2d90-order-17"],
    ),
]
