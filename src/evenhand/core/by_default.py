"""Members of base classes that a part may have as fields instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["by_default"]

if TYPE_CHECKING:
    from builtins import property as by_default  # mypy knows how it may be overridden
else:

    class by_default:  # noqa: N801
        """Like a property, but instances may have an attribute of this name.

        A class of the user's own that is sent to another process loses its slots; a property would then refuse the
        value of the field.
        """

        def __init__(self, function):
            self._function, self.__doc__ = function, function.__doc__
            self.__isabstractmethod__ = getattr(function, "__isabstractmethod__", False)

        def __get__(self, instance, owner=None):
            """What the function says of a part; of the class the member itself."""
            return self if instance is None else self._function(instance)
