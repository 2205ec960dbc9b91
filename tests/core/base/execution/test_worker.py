"""The program of a worker: frames, and errors as they are sent."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

from trigemu.base.errors import MissingExtraError, PluginError, TrigemuError
from trigemu.base.worker import receive, send, transferable


@pytest.mark.parametrize("content", [b"", b"x", bytes(100_000)])
def test_a_frame_arrives_whole_or_not_at_all(content: bytes) -> None:
    stream = io.BytesIO()
    send(stream, content)
    send(stream, b"next")
    written = stream.getvalue()
    stream.seek(0)
    assert [receive(stream), receive(stream), receive(stream)] == [content, b"next", None]
    for length in {0, 1, 7, len(content) + 7}:
        assert receive(io.BytesIO(written[:length])) is None


class OfTwoError(Exception):
    """Its pickle cannot be loaded: it is made from one argument."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one)


class UserError(TrigemuError):
    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


class HoldingError(Exception):
    """It cannot be pickled."""

    def __init__(self) -> None:
        super().__init__(lambda: 1)


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def sent(error: Exception) -> Any:
    return pickle.loads(pickle.dumps(transferable(raised(error))))


def test_errors_of_the_user_arrive_as_they_are() -> None:
    error = PluginError("plugin x fails")
    error.place = ("sample", 3)
    arrived = sent(error)
    assert (type(arrived), str(arrived), arrived.place) == (PluginError, "plugin x fails", ("sample", 3))
    assert not hasattr(arrived, "__notes__")


def test_other_errors_arrive_with_their_traceback() -> None:
    arrived = sent(KeyError("x"))
    assert type(arrived) is KeyError
    assert "in raised" in arrived.__notes__[0]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MissingExtraError("it", "extra", "package"), "it needs the package"),
        (UserError("this", "that"), "this and that"),
        (OfTwoError("this", "that"), "OfTwoError('this')"),
        (HoldingError(), "HoldingError(<function"),
    ],
)
def test_errors_that_cannot_be_sent_arrive_with_their_message(error: Exception, expected: str) -> None:
    arrived = sent(error)
    assert isinstance(arrived, TrigemuError) == isinstance(error, TrigemuError)
    assert expected in repr(arrived)
