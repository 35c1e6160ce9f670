#!/usr/bin/env python3
"""Writes small-cluster.csv, the made trace that the demonstration compares policies on.

    python3 make_small_cluster.py > small-cluster.csv

The same numbers come out on every machine: only random.random() of a seeded generator is used.
"""
import math
import random

DEVICES = 128  # the cluster it is made for: 16 nodes of 8
JOBS = 400
DAYS = 2
DAY = 86400
SIZES = [(1, 0.46), (2, 0.15), (4, 0.15), (8, 0.17), (16, 0.07)]
TENANTS = [("vision", 0.40), ("language", 0.35), ("speech", 0.15), ("intern", 0.10)]
SHORTEST, LONGEST = 60, DAY
LOAD = 1.0  # device-seconds asked for over device-seconds there are until the last arrival

draw = random.Random(2024).random


def pick(choices):
    at = draw()
    for value, share in choices:
        at -= share
        if at < 0:
            return value
    return choices[-1][0]


def normal():
    return math.sqrt(-2 * math.log(1 - draw())) * math.cos(2 * math.pi * draw())


def bounded(seconds):
    """Between the bounds; near the upper one the tail is bent, not cut, so that no jobs pile up."""
    return max(LONGEST * -math.expm1(-seconds / LONGEST), SHORTEST)


def arrivals():
    """Sessions that begin by day more than by night; each submits a few jobs within minutes."""
    times = []
    while len(times) < JOBS:
        start = draw() * DAYS * DAY
        by_day = 0.5 - 0.5 * math.cos(2 * math.pi * (start % DAY) / DAY)
        if draw() > 0.15 + 0.85 * by_day:
            continue
        tenant = pick(TENANTS)
        burst = 1
        while draw() < 0.6:
            burst += 1
        for _ in range(burst):
            times.append((start, tenant))
            start += -240 * math.log(1 - draw())
    times = sorted(times[:JOBS])
    return [(at - times[0][0], tenant) for at, tenant in times]


def make():
    jobs = []
    for at, tenant in arrivals():
        devices = pick(SIZES)
        # Heavy tail: most runs are tries of minutes, some train for most of a day.
        seconds = math.exp(math.log(1500) + 1.9 * normal())
        jobs.append([at, tenant, devices, seconds])
    # Stretch the durations, within their bounds, until the load is what it should be.
    available = DEVICES * jobs[-1][0]
    low, high = 0.01, 100.0
    for _ in range(60):
        stretch = math.sqrt(low * high)
        asked = sum(d * bounded(s * stretch) for _, _, d, s in jobs)
        low, high = (stretch, high) if asked < LOAD * available else (low, stretch)
    return [(at, tenant, d, round(bounded(s * stretch))) for at, tenant, d, s in jobs]


def main():
    jobs = make()
    asked = sum(d * s for _, _, d, s in jobs)
    print(f"# {JOBS} made jobs for a cluster of 16 nodes of 8 devices, written by"
          " make_small_cluster.py (seed 2024).")
    print("# Arrivals come in bursts, by day more than by night, over two days; durations are"
          " heavy-tailed, 1 min to 1 day.")
    print(f"# Load until the last arrival: {asked / (DEVICES * jobs[-1][0]):.2f}."
          " Estimates are the users' own: high on the whole, and often far off.")
    print("name,submit_s,devices,duration_s,tenant,priority,deadline_s,estimate_s")
    for number, (at, tenant, devices, seconds) in enumerate(jobs):
        submit = round(at)
        priority = 10 if draw() < 0.08 else 0
        deadline = ""
        if draw() < 0.12:
            deadline = round(submit + seconds * (1.3 + 4 * draw()) + 600)
        estimate = 60 * math.ceil(seconds * math.exp(0.3 + 0.8 * normal()) / 60)
        print(f"{tenant}-{number:03d},{submit},{devices},{seconds},{tenant},{priority},{deadline},"
              f"{estimate}")


if __name__ == "__main__":
    main()
