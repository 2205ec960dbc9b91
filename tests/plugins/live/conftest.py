import pytest
from commands import place as place, root_file as root_file, trigemu as trigemu


@pytest.fixture(autouse=True)
def short_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves of live fractions from fewer accepts: they are half of the time of a short run."""
    monkeypatch.setattr("trigemu_live.live.ATTEMPTS", 20_000)
