"""The changes of arms and promises, for `evenhand.bandit.Bandit.change`, the clients, the store and simulated runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.messages.changes import AddArm as AddArm
    from evenhand.messages.changes import BringBack as BringBack
    from evenhand.messages.changes import Close as Close
    from evenhand.messages.changes import Erase as Erase
    from evenhand.messages.changes import From as From
    from evenhand.messages.changes import Promise as Promise
    from evenhand.messages.changes import Redeclare as Redeclare
    from evenhand.messages.changes import Rename as Rename
    from evenhand.messages.changes import Reopen as Reopen
    from evenhand.messages.changes import Retire as Retire
    from evenhand.messages.changes import Reword as Reword
else:
    __getattr__, __dir__ = lazy(__name__)
