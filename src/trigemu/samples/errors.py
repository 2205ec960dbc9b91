"""Errors in samples."""

from __future__ import annotations

from trigemu.support import RetryableError, TrigemuError


class SampleError(TrigemuError):
    """A catalogue or an event file that cannot be used."""


class UnreadableError(SampleError, RetryableError):
    """An event file that is missing, damaged, or not readable now. Another attempt may succeed."""
