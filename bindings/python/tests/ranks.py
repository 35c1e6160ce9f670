"""Runs a function on several ranks, each a process of its own, and gathers what they return.

Works with "gloo" and "weft". Ranks find each other through a file, so that no port is needed.
"""

import ctypes
import faulthandler
import multiprocessing
import os
import queue
import signal
import tempfile
import time
import traceback
from datetime import timedelta
from typing import Any, Callable, List

import torch
import torch.distributed as dist

LIMIT_S = 120


def _rank(function, backend, rank, size, path, results, limit_s, arguments):
    faulthandler.dump_traceback_later(limit_s - 5, exit=True)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # end with the program that started it
    torch.set_num_threads(1)
    try:
        if backend == "weft":
            import weft.torch  # noqa: F401
        dist.init_process_group(
            backend, init_method=f"file://{path}", rank=rank, world_size=size,
            timeout=timedelta(seconds=limit_s / 2),
        )
        results.put((rank, None, function(rank, size, *arguments)))
        results.close()
        results.join_thread()
    except BaseException:
        results.put((rank, traceback.format_exc(), None))
        results.close()
        results.join_thread()
        os._exit(1)


def run(function: Callable[..., Any], size: int, *arguments: Any, backend: str = "weft",
        missing: int = 0, limit_s: float = LIMIT_S) -> List[Any]:
    """What ``function(rank, size, *arguments)`` returned, by rank; ``missing`` ranks may say nothing."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "meet")
        ranks = [
            context.Process(target=_rank, daemon=True,
                            args=(function, backend, rank, size, path, results, limit_s, arguments))
            for rank in range(size)
        ]
        for process in ranks:
            process.start()
        found: List[Any] = [None] * size
        errors = []
        until = time.monotonic() + limit_s
        for _ in range(size - missing):
            try:
                rank, error, value = results.get(timeout=max(0.1, until - time.monotonic()))
            except queue.Empty:
                errors.append(f"only some of {size} ranks answered in {limit_s:g} s")
                break
            found[rank] = value
            if error:
                errors.append(f"rank {rank}: {error}")
        for process in ranks:
            process.join(timeout=max(0.1, min(10, until - time.monotonic())))
            if process.is_alive():
                process.kill()
        if errors:
            raise AssertionError("\n".join(errors))
        return found
