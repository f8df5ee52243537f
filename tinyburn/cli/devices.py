"""`tinyburn devices`: what works on this machine, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Mapping

from tinyburn.backend import Backend
from tinyburn.base.errors import BackendUnavailable
from tinyburn.base.text import table
from tinyburn.module.run import BACKENDS, backend_called


def devices() -> int:
    """Prints the report. It is an answer, not a failure, if a backend does not work here."""
    print(report({name: backend_called(name) for name in BACKENDS}))
    return 0


def report(backends: Mapping[str, type[Backend]]) -> str:
    """One row for each device that works and for each backend that does not; under the table, why and what to do."""
    rows: list[tuple[str, str, str, str]] = []
    notes: list[str] = []
    for name, backend in backends.items():
        reason = backend.why_unavailable()
        if reason is not None:
            rows.append((name, "none", "no", ""))
            notes.append(f"{name}: {reason}")
        for device in backend.devices() if reason is None else []:
            try:
                rows.append((name, device, "yes", backend.device(device).description))
            except BackendUnavailable as error:  # it is listed, and does not open
                rows.append((name, device, "no", ""))
                notes.append(f"{name}: {error}")
    return "\n\n".join([table(("backend", "device", "works here", "what it is"), rows), *notes])
