"""What the automatic choice measures of steps and hears of links."""

import json
import os
import statistics
from typing import List, Optional

import torch

__all__ = ["Rounds", "Watch", "adaptive", "bandwidths", "place"]

_ADAPTIVE = (torch.optim.Adam, torch.optim.AdamW, torch.optim.Adamax, torch.optim.NAdam,
             torch.optim.RAdam, torch.optim.Adagrad, torch.optim.Adadelta, torch.optim.RMSprop)


def place() -> str:
    """The same for ranks that reach each other without a network."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()} {os.stat('/proc/self/ns/net').st_ino}"


def adaptive(optimizer: Optional[torch.optim.Optimizer]) -> Optional[bool]:
    if isinstance(optimizer, _ADAPTIVE):
        return True
    return False if isinstance(optimizer, torch.optim.SGD) else None


class Watch:
    """What the steps since the last look took, as this rank saw it."""

    def __init__(self) -> None:
        self.step_s: List[float] = []
        self.busy_s: List[float] = []  # of a step: not waiting for averages
        self.ready_s: List[List[float]] = []

    def add(self, begin: float, end: float, ready: List[float], done: List[float]) -> None:
        if not ready or len(done) < len(ready):
            return
        self.step_s.append(end - begin)
        self.busy_s.append(end - begin - max(0.0, max(done) - ready[-1]))
        self.ready_s.append([at - begin for at in ready])

    def text(self, sizes: List[int], links_s: float) -> str:
        """Of the step of median length, among those with buckets as they are now."""
        whole = [step for step in zip(self.step_s, self.busy_s, self.ready_s)
                 if len(step[2]) == len(sizes)]
        if not whole:
            return "null"
        step_s, busy_s, ready_s = sorted(whole)[(len(whole) - 1) // 2]
        return json.dumps({"step_s": step_s, "busy_s": busy_s, "sizes": sizes,
                           "ready_s": ready_s, "steps": len(whole), "links_s": links_s})


class Rounds:
    """The same where parameters are averaged, once in several steps."""

    def __init__(self) -> None:
        self.alone_s: List[float] = []  # steps without an average
        self.together_s: List[float] = []  # with one at their end

    def add(self, begin: float, end: float, averaged: bool) -> None:
        (self.together_s if averaged else self.alone_s).append(end - begin)

    def text(self, links_s: float) -> str:
        """Of steps of median length, those with an average as often as they were."""
        if not self.alone_s or not self.together_s:
            return "null"
        alone, together = statistics.median(self.alone_s), statistics.median(self.together_s)
        share = len(self.together_s) / (len(self.alone_s) + len(self.together_s))
        return json.dumps({"step_s": alone + share * max(0.0, together - alone), "busy_s": alone,
                           "steps": len(self.together_s), "links_s": links_s})


def bandwidths(links: str) -> List[float]:
    """Of links inside a host and between hosts, as weft's own text of links has them."""
    units = {"GB/s": 1e9, "MB/s": 1e6, "KB/s": 1e3, "B/s": 1.0}
    found = []
    for word in links.split(",")[1:4:2]:
        unit = next(unit for unit in units if word.strip().endswith(unit))
        found.append(float(word.strip()[:-len(unit)]) * units[unit])
    return found
