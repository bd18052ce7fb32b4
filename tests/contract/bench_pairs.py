#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benches tell a slow-down on a machine that drifts: known slow-downs come out, and a budget is missed only when the interval says so."""
import contextlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.environ["XP_SOURCE_DIR"], "bench"))
import pairs  # noqa: E402


class Machine:
    """Its speed wanders by 20 % and now and then a turn takes twice as long; `slower` while a tool is attached."""

    def __init__(self, seed):
        self.random, self.speed, self.slower = random.Random(seed), 1.0, 0.0

    def turn(self):
        self.speed = min(1.2, max(0.8, self.speed + self.random.gauss(0, 0.01)))
        return self.speed * (1 + self.slower) * (2 if self.random.random() < 0.05 else 1)

    @contextlib.contextmanager
    def attached(self, slower):
        self.slower = slower
        yield
        self.slower = 0.0


def told(slower, n, seed):
    machine = Machine(seed)
    return pairs.run(machine.turn, [pairs.Tool("tool", lambda: machine.attached(slower), n)], 0)["tool"]


def main():
    # Ranks of the 95 % interval of a median, from tables of the binomial distribution: 6 and 15 of 20, 40 and 61 of 100.
    assert pairs.interval(range(1, 21)) == (6, 15), pairs.interval(range(1, 21))
    assert pairs.interval(list(reversed(range(1, 101)))) == (40, 61)
    assert pairs.interval(range(5))[0] < -1e9, "five values can't say it"

    inside = 0
    for seed in range(100):
        low, high = pairs.interval(told(0.03, 60, seed).slower)
        inside += low <= 0.03 <= high
    assert inside >= 88, f"the interval holds the slow-down in {inside} of 100 runs"
    assert told(0.10, 300, 1).verdict(0.03) == pairs.MISSED
    assert told(0.01, 300, 1).verdict(0.03) == pairs.KEPT
    assert told(0.03, 8, 1).verdict(0.03) == pairs.UNDECIDED


if __name__ == "__main__":
    main()
