"""Tells the cluster how training goes.

>>> import weft.progress
>>> weft.progress.report(step=10, loss=0.42)

Where no agent of the cluster runs the program (WEFT_PROGRESS is not set) it does nothing, so it may
stay in any script. Models made by ``weft.torch.wrap`` report their steps by themselves.
"""

import faulthandler
import json
import math
import os
import signal
import socket
import threading
import time
from typing import Dict, Optional

__all__ = ["report", "report_step"]

# On this the program writes where all its threads are to its standard error, and goes on: what the
# cluster asks for when no step comes any more. The agent knows it by the same number.
_STACKS_SIGNAL = signal.SIGRTMIN + 6

_EVERY_S = 0.1  # the agent passes on ten reports a second, so more would be for nothing

_lock = threading.Lock()
_socket: Optional[socket.socket] = None
_waiting: Dict[str, float] = {}  # values that were not sent yet
_sent_at = -math.inf
_first_step: Optional[tuple] = None  # (step, when) from which the rate counts


def _answer_for_stacks() -> None:
    if "WEFT_PROGRESS" not in os.environ:
        return
    try:
        faulthandler.register(_STACKS_SIGNAL, all_threads=True)
    except (AttributeError, OSError, RuntimeError, ValueError):
        pass  # no standard error to write to: the kernel's view has to do


_answer_for_stacks()


def report(**values: float) -> bool:
    """Reports numbers such as ``step``, ``loss``, ``rate`` (steps per second), ``work`` (samples or
    tokens so far) and ``noise`` (gradient noise scale).

    It never waits and never raises: what comes within a tenth of a second is sent together, later
    values over earlier ones; numbers that are not finite are left out.

    Returns:
        whether something was sent just now.
    """
    address = os.environ.get("WEFT_PROGRESS")
    if not address:
        return False
    global _sent_at
    with _lock:
        for name, value in values.items():
            number = float(value)
            if math.isfinite(number):
                _waiting[name] = number
        now = time.monotonic()
        if not _waiting or now - _sent_at < _EVERY_S:
            return False
        _sent_at = now
        if not _send(address, json.dumps(_waiting)):
            return False
        _waiting.clear()
        return True


def report_step(step: int) -> bool:
    """Reports a step and the rate since the first one told."""
    if "WEFT_PROGRESS" not in os.environ:
        return False
    global _first_step
    now = time.monotonic()
    if _first_step is None or step < _first_step[0]:
        _first_step = (step, now)
    first, since = _first_step
    if step > first and now > since:
        return report(step=step, rate=(step - first) / (now - since))
    return report(step=step)


def _send(address: str, line: str) -> bool:
    global _socket
    try:
        if _socket is None:
            _socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            _socket.setblocking(False)
        _socket.sendto(line.encode() + b"\n", address)
        return True
    except OSError:  # nobody listens, or too much is under way: the next report is as good
        return False
