"""Executors: those of libraries, and toys that behave as others may."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Shuffled(ThreadPoolExecutor):
    """Threads that finish in another order than they were asked in."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **further: Any) -> Future[Any]:
        delay = random.random() / 100
        return super().submit(lambda: (time.sleep(delay), function(*arguments, **further))[1])


@contextmanager
def loky_pool() -> Iterator[Any]:
    loky = pytest.importorskip("loky")
    executor = loky.get_reusable_executor(max_workers=2)
    try:
        yield executor
    finally:
        executor.shutdown(kill_workers=True)


@contextmanager
def parsl_pool(folder: Path) -> Iterator[Any]:
    pytest.importorskip("parsl")
    from parsl.concurrent import ParslPoolExecutor
    from parsl.config import Config
    from parsl.executors import ThreadPoolExecutor as Threads

    config = Config(executors=[Threads(max_threads=2)], run_dir=str(folder), initialize_logging=False)
    with ParslPoolExecutor(config) as executor:
        yield executor


@contextmanager
def thread_cluster(workers: int, threads: int) -> Iterator[Any]:
    """A cluster of dask whose workers are threads of this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=False,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
    ) as started:
        yield started


class OnlyResult:
    """A future that knows nothing but its result, and makes it when it is asked, as those of TaskVine."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result = call


class Lazy:
    """An executor that counts what was submitted and not yet asked for."""

    def __init__(self) -> None:
        self.waiting = self.most = self.submitted = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        self.submitted += 1
        self.waiting += 1
        self.most = max(self.most, self.waiting)

        def result() -> Any:
            self.waiting -= 1
            return function(*arguments)

        return OnlyResult(result)


class LazyThree(Lazy):
    number = 3
