"""A transaction: the commands of one allocation or of many are carried out, committed, and then answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from pydantic import TypeAdapter
from sqlalchemy import Connection, func, select

from evenhand.core.errors import EvenhandError, StateError
from evenhand.service.json import encode
from evenhand.service.priority import PRIORITY
from evenhand.service.store import seals, tables
from evenhand.service.store.allocation import FREE, Allocation, AllocationRow, loaded, row_of, write_events
from evenhand.service.store.checked import as_reported, check, isolated
from evenhand.service.store.commands import Answer, Command, CommandContext
from evenhand.service.store.database import FAILURES, PURGE, Chosen, Database, insert_rows, owe
from evenhand.service.store.errors import KeyReused
from evenhand.service.store.reader import damage_as_state_error

MAX_SECONDS = 0.1  # after which a transaction is committed though it is not complete, so that others can write
MAX_BEHIND = 100  # events of other processes that are replayed while other allocations wait
ANSWER_LIFETIME = 7 * 86_400.0  # seconds for which an answer is kept under its idempotency key, at least
MAX_STEP = 86_400.0  # seconds by which answers grow older between two groups of commands, whatever the clock says

_OF = tables.answers.c
ANSWERS = Chosen(select(_OF.allocation, _OF.key, _OF.digest, _OF.body), _OF.allocation, _OF.key)
EarlierAnswers = dict[tuple[int, str], tuple[str, str]]  # by allocation and key: digest and answer


class Observer(Protocol):
    """Receives the commits of a store."""

    def committed(self, events: int, seconds: float) -> None:
        """A transaction wrote this number of events in this time."""


@dataclass(frozen=True)
class QueuedCommand:
    """A command, and the future of its answer."""

    command: Command[Any]
    future: Future[Any]


@dataclass
class AnswerAge:
    """The time by which answers grow old, which goes on with the clock, but by a day at most where that jumps ahead."""

    time: float
    last: float  # what the clock said when it was read

    def read(self, now: float) -> float:
        """Go on with the clock, which says ``now``; returns the time by which answers are old or not."""
        self.time += min(max(now - self.last, 0.0), MAX_STEP)
        self.last = now
        return self.time


class PartialFailure(Exception):
    """A command failed after it had changed something: the bandit in memory must be discarded."""

    def __init__(self, queued: QueuedCommand, cause: Exception) -> None:
        super().__init__(str(cause))
        self.queued, self.cause = queued, cause


@dataclass
class Batch:
    """Commands of one allocation, to be carried out in order."""

    name: str
    allocation: Allocation | None
    age: AnswerAge | None
    queued: list[QueuedCommand]
    long: bool = False
    wrote: bool = False  # whether one of its commands, those that are answered among them, does not only read
    outcomes: list[Any] = field(default_factory=list)
    context: CommandContext | None = None

    def writes(self, now: float) -> bool:
        """Whether the next transaction has to write."""
        if not all(queued.command.reads for queued in self.queued):
            return True
        return self.allocation is not None and self.allocation.bandit.due(now)

    def discard(self) -> None:
        """Remove the allocation from memory: the transaction has failed, and its events with it."""
        self.allocation, self.outcomes, self.context = None, [], None

    def fail(self, error: Exception) -> None:
        """The outcome of commands is an error: of one, or of all that have none."""
        self.discard()
        if isinstance(error, PartialFailure):  # the others are carried out without it
            error.queued.future.set_exception(error.cause)
            self.queued = [queued for queued in self.queued if queued is not error.queued]
        else:
            for queued in self.queued:
                queued.future.set_exception(error)
            self.queued = []

    def answer(self) -> None:
        """Give the commands their outcomes, which are committed; those without one come later."""
        for queued, outcome in zip(self.queued, self.outcomes, strict=False):
            if isinstance(outcome, Exception):
                queued.future.set_exception(outcome)
            else:
                queued.future.set_result(outcome)
        self.queued, self.outcomes, self.context = self.queued[len(self.outcomes) :], [], None


class Overtaken(Exception):
    """Another process has written to the allocation in the meantime."""


def commit(database: Database, batches: Sequence[Batch], now: float, alone: bool) -> int:
    """Carry out batches in one transaction, and commit it; their outcomes can be given after it.

    One alone has an outcome of its first command at least, unless it must write and was only going to read. Of several,
    those are left as they are that would keep the others waiting.
    """
    if alone and batches[0].long:
        try:
            return _commit_long(database, batches[0], now)
        except Overtaken:  # it is carried out again, and others wait for its end
            batches[0].discard()
    writes = any(batch.writes(now) for batch in batches)
    with database.transaction(writes) as connection:
        begun = (_begun if alone else _begun_together)(database, connection, batches, now)
        if not writes and begun[0].writes(now):  # what was loaded has events that are due, which come first
            begun[0].context = None
            return 0
        earlier = _earlier_answers(connection, begun)
        end = time.perf_counter() + MAX_SECONDS  # not from the start, as locks may be long in coming
        for batch in begun:
            try:
                _carry_out(database, batch, earlier, end)
            except PartialFailure as failure:
                if alone or (batch.allocation is not None and batch.allocation.flushed):
                    raise
                batch.fail(failure)  # it has written nothing
            if time.perf_counter() > end:
                break
        return _written(connection, [batch.context for batch in begun if batch.context is not None])


def _commit_long(database: Database, batch: Batch, now: float) -> int:
    """Carry out the first command of a batch before the transaction that writes it: nobody else can write in that."""
    with database.transaction(writes=False) as connection:
        begun = _begun(database, connection, [batch], now)
        context = batch.context
        assert context is not None
        chain = context.allocation.chain
        with PRIORITY.long():
            _carry_out(database, batch, _earlier_answers(connection, begun), 0.0)
            context.allocation.link()
    if not context.allocation.rows and not context.answers:
        return 0
    with database.transaction(writes=True) as connection:
        row = row_of(connection, batch.name, lock=True)
        if (row.id, row.sequence, row.chain) != (context.allocation.id, context.before, chain):
            raise Overtaken
        return _written(connection, [context])


def _written(connection: Connection, contexts: Sequence[CommandContext]) -> int:
    """Write what commands have done; returns the number of events."""
    answers = [row for context in contexts for row in context.answers]
    sums = {one.allocation.id: seals.of_answers(one.answers) for one in contexts if one.answers}
    events = sum(context.allocation.sequence - context.before for context in contexts)
    write_events(connection, {context.allocation.id: context.allocation for context in contexts}, sums)
    if answers:
        insert_rows(connection, tables.answers, answers)
    if any(command.purges for context in contexts for command, _ in context.carried_out):
        owe(connection, PURGE)
    return events


def _begun(database: Database, connection: Connection, batches: Sequence[Batch], now: float) -> Sequence[Batch]:
    """The one batch, with its allocation after its last event, of any process; others wait if this one is to write."""
    (batch,) = batches
    row = row_of(connection, batch.name, lock=connection.info["writes"])
    with isolated(database, batch.name, row.id), damage_as_state_error():
        reads = any(queued.command.reads for queued in batch.queued)
        if reads or batch.allocation is None or database.fault_of(row.id):
            check(database.checked, connection, row)
        if not _goes_on(connection, batch, row):
            batch.allocation = loaded(connection, row)
    assert batch.allocation is not None
    batch.context = CommandContext(batch.allocation, now, connection, batch.allocation.sequence)
    batch.age = batch.age or _answer_age(batch.context)
    return batches


def _begun_together(
    database: Database, connection: Connection, batches: Sequence[Batch], now: float
) -> Sequence[Batch]:
    """The batches whose allocations are in memory, and to which no other process writes or has written much."""
    # Those that one is writing have no row here: nobody waits for a lock who has one for which others might wait.
    free = map(AllocationRow._make, FREE.rows(connection, [(batch.name,) for batch in batches]))
    rows, begun = {row.name: row for row in free}, []
    for batch in batches:
        row, allocation = rows.get(batch.name), batch.allocation
        if row is None or allocation is None or database.fault_of(row.id):
            continue
        if row.sequence - allocation.sequence > MAX_BEHIND:
            continue
        if _goes_on(connection, batch, row):
            batch.context = CommandContext(allocation, now, connection, allocation.sequence)
            begun.append(batch)
    return begun


def _goes_on(connection: Connection, batch: Batch, row: AllocationRow) -> bool:
    """Whether the allocation in memory goes on after the events that other processes have written since."""
    if batch.allocation is not None and batch.allocation.id == row.id:
        with suppress(StateError):  # it may be restored: what is in memory is another history
            batch.allocation.catch_up(connection, row)
            return True
    batch.allocation = None
    return False


def _earlier_answers(connection: Connection, batches: Sequence[Batch]) -> EarlierAnswers:
    """The digests and answers of earlier commands with the idempotency keys of these."""
    keys = {
        (batch.context.allocation.id, queued.command.key)
        for batch in batches
        for queued in batch.queued
        if batch.context is not None and queued.command.key is not None and not queued.command.reads
    }
    if not keys:
        return {}
    rows = ANSWERS.rows(connection, sorted(keys))
    return {(allocation, key): (digest, body) for allocation, key, digest, body in rows}


def _carry_out(database: Database, batch: Batch, earlier: EarlierAnswers, end: float) -> None:
    """Run the commands of a batch until the time is over, at least one."""
    context, age, worked = batch.context, batch.age, time.thread_time()
    assert context is not None
    assert age is not None
    time_of_answers = max(context.now, age.read(context.now))  # no younger ones than these where the clock went back
    if batch.long or context.connection.info["writes"]:
        context.allocation.expire(context.now, context.connection)
    for queued in batch.queued:
        batch.outcomes.append(_outcome(database, context, queued, earlier))
        if time.perf_counter() > end:
            break
    for row in context.answers:
        row["time"] = time_of_answers
    context.allocation.work += time.thread_time() - worked


def _outcome(database: Database, context: CommandContext, queued: QueuedCommand, earlier: EarlierAnswers) -> Any:
    """The outcome of a command: an answer, or the error for which it was refused."""
    before = context.allocation.sequence
    try:
        return _answer(context, queued.command, earlier)
    except FAILURES:  # not errors of the command
        raise
    except EvenhandError as error:
        found = _bare(as_reported(database, error, context.allocation.name, context.allocation.id))
        if context.allocation.sequence == before:
            return found
        raise PartialFailure(queued, found) from error
    except Exception as error:
        raise PartialFailure(queued, error) from error


def _bare(error: EvenhandError) -> EvenhandError:
    """An error without the frames in which it was raised: they have its future, and so keep all that was sent."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


def _answer(context: CommandContext, command: Command[Answer], earlier: EarlierAnswers) -> Answer:
    """The answer to a command: the earlier one of its key, or a new one."""
    if command.key is None or command.reads:
        return _carried_out(context, command)
    digest, place = command.digest(), (context.allocation.id, command.key)
    if place in earlier:
        known, body = earlier[place]
        if digest != known:
            raise KeyReused(f"the idempotency key {command.key!r} was used for another request; use a new one")
        again: Answer = _reader(command.answer).validate_json(body)
        return again
    answer = _carried_out(context, command)
    body = encode(answer).decode()
    earlier[place] = digest, body
    context.answers.append({"allocation": place[0], "key": command.key, "digest": digest, "body": body})
    return answer


def _carried_out(context: CommandContext, command: Command[Answer]) -> Answer:
    """The answer to a command that is carried out now, not a repetition."""
    context.api_key = command.api_key
    answer = command.run(context)
    context.carried_out.append((command, answer))
    return answer


@cache
def _reader(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _answer_age(context: CommandContext) -> AnswerAge:
    """The age of answers when a process begins: no answer is old then, whatever its clock says."""
    table = tables.answers.c
    oldest = select(func.min(table.time)).where(table.allocation == context.allocation.id)
    now, first = context.now, context.connection.execute(oldest).scalar_one()
    # before the first: the clock went back
    return AnswerAge(now if first is None else min(max(now, first), first + ANSWER_LIFETIME), now)
