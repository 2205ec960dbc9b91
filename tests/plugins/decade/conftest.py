from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from decade_fixtures import (
    booster as booster,
    catalogue as catalogue,
    compiler as compiler,
    fresh_cache as fresh_cache,
    models as models,
    no_compiler as no_compiler,
    no_tables as no_tables,
    own_cache as own_cache,
    plain_events as plain_events,
)
from decade_toys import TRAINING, TRAINING_MENU, command
from matplotlib.layout_engine import ConstrainedLayoutEngine
from toys import CATALOGUE, toy_events, write_root


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads of XGBoost that wait for each other on a busy machine take longer than one."""
    from trigemu_decade.training import regression

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regression, "THREADS", 1)
        yield


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with samples and a configuration, the models that it gives in `own`, and three replicas in
    `set`."""
    folder = tmp_path_factory.mktemp("trained")
    with chdir(folder):
        write_root(Path("all.root"), toy_events(19, 6000))
        write_root(Path("signal.root"), toy_events(20, 300))
        signal = CATALOGUE.partition("[[sample]]")[2].replace("all.root", "signal.root")
        signal = signal.replace('"background"', '"signal"').replace('name = "all"', 'name = "yy"')
        Path("catalogue.toml").write_text(f"{CATALOGUE}\n[[sample]]{signal}")
        Path("train.toml").write_text(TRAINING)
        Path("others.toml").write_text(TRAINING_MENU)
        for more in (("-o", "own"), ("-o", "set", "--replicas", "3")):
            status, text = command("train", "train.toml", "--samples", "catalogue.toml", *more)
            assert status == 0, text
    return folder


@pytest.fixture
def without_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are drawn where their axes happen to be: to lay them out takes most of the time."""
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda self, figure: None)


@pytest.fixture(scope="session")
def toy() -> Callable[..., Any]:
    """Scored events of which Y(x) is known: two steep observables, the first often missing, and y normal
    around a mean that rises with both. Weights spread, and fall with the second observable."""
    from trigemu_decade.events import ScoredEvents

    def make(n: int, seed: int, q: float = 0.05, spread: float = 0.7, threshold: float = 0.1) -> ScoredEvents:
        rng = np.random.default_rng(seed)
        jet = np.where(rng.random(n) < 0.3, 0.0, 20 + rng.exponential(15, n))
        photon = 10 + rng.exponential(5, n)
        mean = 0.03 * jet + 0.05 * photon
        y = mean + rng.standard_normal(n)
        hard, soft = (jet > 60) * 1.0, (photon > 20) * 0.5
        return ScoredEvents(
            interaction=np.arange(n),
            weight=100 * rng.lognormal(0, spread, n) * np.exp(-(photon - 10) / 30),
            x={"jet[0].pt": jet, "photon[0].pt": photon},
            y=y,
            quantile=mean + NormalDist().inv_cdf(1 - q),
            q=q,
            threshold=threshold,
            threshold_error=0.02,
            y_threshold=float(np.quantile(y, 0.95)),
            primary={"J60": hard, "G20": soft},
            any_primary=hard + soft - hard * soft,
        )

    return make
