"""The errors that Evenhand raises; each says what is wrong, where, and what would be right."""


class EvenhandError(ValueError):
    """Any error that the user can mend."""


class InfeasiblePromise(EvenhandError):
    """Promised shares that no policy can keep; names the arms and the amount by which they overask."""


class ConfigurationError(EvenhandError):
    """A configuration that cannot be run."""


class DataError(EvenhandError):
    """A data file that cannot be read; names the file, the column and the row."""


class StateError(EvenhandError):
    """A saved state that does not belong to this policy."""
