"""`tinyburn inspect FILE`: what a file of a model or of a training state holds."""

from __future__ import annotations

from tinyburn import record

from .errors import CommandError


def inspect(file: str, check: bool) -> int:
    """Prints the table. Raises RecordError for a file that is damaged or too new, CommandError for one not there."""
    try:
        print(record.inspect(file, check))
    except OSError as error:
        raise CommandError(f"inspect {file}", error.strerror or str(error), hint="give the path of a file") from error
    return 0
