"""`tinyburn inspect FILE`: what a file of a model or of a training state holds."""

from __future__ import annotations

from tinyburn import record
from tinyburn.base.errors import RecordError

from .errors import CommandError


def inspect(file: str, check: bool) -> int:
    """Prints the table. Raises CommandError for a file that is damaged, too new, or not there."""
    try:
        print(record.inspect(file, check))
    except RecordError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"inspect {file}", error.strerror or str(error), hint="give the path of a file") from error
    return 0
