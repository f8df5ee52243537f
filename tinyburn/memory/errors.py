"""The error of a job that gives no answer about memory."""

from __future__ import annotations

from tinyburn.base.errors import TinyburnError


class JobError(TinyburnError, ValueError):
    """A job whose memory cannot be told: it fails, it does not fit, or it does not depend on its batch."""
