"""What is downloaded of an allocation: its audit as a table, as a figure or as a report, and its log."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from evenhand.bandit.audit.report import report
from evenhand.messages.answers import LOG_TYPES
from evenhand.messages.audit import Audit
from evenhand.messages.lines import COLUMNS, VALUES
from evenhand.service.http.dependencies import ONE, Endpoint, KeyRoute, Name, Reader, Services, route, text
from evenhand.service.http.limits import LogDownload
from evenhand.service.store import ReadAudit, export
from evenhand.service.store.reading import ReadReport

CSV, SVG, HTML = "text/csv; charset=utf-8", "image/svg+xml", "text/html; charset=utf-8"
FORMULAS = re.compile(export.FORMULA)
MAX_CHARACTERS = 2**28  # of available arms per log, which every row repeats
#: One figure is drawn at a time: matplotlib's settings are those of the whole process.
DRAWING = ThreadPoolExecutor(1, thread_name_prefix="evenhand-figure")

router = APIRouter(route_class=KeyRoute, generate_unique_id_function=lambda route: route.name)


def _downloads(file: str, what: str, media_type: str) -> Callable[[Endpoint], Endpoint]:
    """A route that answers with a file about an allocation."""
    return route(router.get, f"{ONE}/{file}", "results", None, also=text(what, media_type), response_class=Response)


@_downloads("audit.csv", "a row per arm", CSV)
async def audit_csv(caller: Reader, service: Services, name: Name) -> Response:
    """Download the audit as a table, with a row per arm and the columns of its lines.

    Unknown values are empty. A name that a spreadsheet would take for a formula has an apostrophe before it.
    """
    content = await run_in_threadpool(as_csv, await service.run(name, ReadAudit()))
    return _file(content, f"{name}-audit.csv", CSV)


@_downloads("audit.svg", "the figure", SVG)
async def audit_svg(caller: Reader, service: Services, name: Name) -> Response:
    """Download the figure of the audit: shares beside promises, and estimated rewards with their intervals.

    It shows at most 60 arms, those furthest behind their promise.
    """
    audit = await service.run(name, ReadAudit())
    content = await asyncio.get_running_loop().run_in_executor(DRAWING, as_svg, audit)
    return _file(content, f"{name}-audit.svg", SVG)


@_downloads("report", "the report", HTML)
async def audit_report(caller: Reader, service: Services, name: Name) -> Response:
    """Download a report to be handed on, as one page that loads nothing and can be printed.

    It says what was promised and kept, what that costs, how sure all this is, which rewards are late or missing, what
    was changed, with which key and why, which alarms stand, and how to verify it.
    """
    found = await service.run(name, ReadReport())
    found = found._replace(audit=await service.with_authors(found.audit))
    content = await run_in_threadpool(lambda: report(*found).encode())
    return _file(content, f"{name}-report.html", HTML)


def _file(content: bytes, name: str, media_type: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "private, no-cache"}
    return Response(content, headers=headers, media_type=media_type)


def as_csv(audit: Audit) -> bytes:
    """The lines of an audit as a CSV file in UTF-8, as RFC 4180 has it."""
    file = io.StringIO()
    writer = csv.writer(file)  # ends lines with CR LF, so that names with either are quoted
    writer.writerow(COLUMNS)
    for line in audit.lines:
        writer.writerow([f"'{one}" if isinstance(one, str) and FORMULAS.match(one) else one for one in VALUES(line)])
    return file.getvalue().encode()


def as_svg(audit: Audit) -> bytes:
    """The figure of an audit as an SVG file, whose text stays text."""
    import matplotlib as mpl

    from evenhand.bandit.audit.figure import audit_figure
    from evenhand.simulation.figures.files import FORMATS
    from evenhand.simulation.figures.style import style_for

    file = io.BytesIO()
    with mpl.rc_context(style_for("")), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # the reader's browser has the letters of more scripts
        audit_figure(audit).savefig(file, format="svg", **FORMATS["svg"])
    return file.getvalue()


@route(
    router.get,
    ONE + "/log",
    "results",
    None,
    "too_large",
    also=text("the log", *LOG_TYPES.values()),
    response_class=StreamingResponse,
)
async def log(
    request: Request,
    caller: Reader,
    service: Services,
    name: Name,
    format: Annotated[Literal["csv", "parquet"], Query(description="format of the file")] = "csv",
    since: Annotated[int, Query(ge=1, lt=2**53, description="first round")] = 1,
    until: Annotated[int | None, Query(ge=1, lt=2**53, description="last round; default: the last one decided")] = None,
    estimate: Annotated[
        bool, Query(description="whether to estimate propensities that have no closed form and were not requested")
    ] = False,
    features: Annotated[
        bool, Query(description="whether to add the features of the decisions, which may be personal")
    ] = False,
) -> Response:
    """Download the log of the decisions and rewards, in the columns that off-policy evaluation reads.

    Estimating propensities replays every event, which takes as long as it took to decide.
    """
    download = service.quotas.log(caller, estimate)
    limits = export.LogLimits(service.settings.max_work, MAX_CHARACTERS, download.proceed)
    begin = partial(export.log, service.store.database, name, since, until, estimate, limits, features)
    try:
        pieces = await download.run(request, lambda: export.encoded(format, begin()))
    except BaseException:
        download.end()
        raise
    headers = {"content-disposition": f'attachment; filename="{name}.{format}"'}
    return LogResponse(request, download, pieces, media_type=LOG_TYPES[format], headers=headers)


class LogResponse(StreamingResponse):
    """A log that is sent while it is written; its download ends with the answer, however that ends."""

    def __init__(self, request: Request, download: LogDownload, pieces: Iterator[bytes], **options: Any) -> None:
        super().__init__(self._written(request, download, pieces), **options)
        self._download = download

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._download.end()

    @staticmethod
    async def _written(request: Request, download: LogDownload, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        while piece := await download.run(request, lambda: next(pieces, b"")):
            yield piece
