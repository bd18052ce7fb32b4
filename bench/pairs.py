# SPDX-License-Identifier: Apache-2.0
"""Slow-down on machines whose speed drifts. Short turns, one without a tool, two with it, one without: the mean of the two is compared with
that of their neighbours, and the median of all such pairs is told with its 95 % interval. One turn against the mean of two would look too
quick where noise only ever slows. Nothing else is assumed of the distribution.
"""
import math
import statistics
import time
from typing import Any, NamedTuple

KEPT, MISSED, UNDECIDED = "kept", "MISSED", "undecided"


def interval(values):
    """Of the median, by order statistics: the narrowest pair of ranks that holds it with at least 95 %; wider than all when there are too few."""
    values, n = sorted(values), len(values)
    beyond, below = 0.0, -1  # chance that the median lies below the value of rank `below`, from 0
    while beyond + math.comb(n, below + 1) / 2 ** n <= 0.025:
        below += 1
        beyond += math.comb(n, below) / 2 ** n
    return (values[below], values[n - 1 - below]) if below >= 0 else (-math.inf, math.inf)


class Pairs:
    """Of one tool: how much slower its turns were than their neighbours, as shares."""

    def __init__(self):
        self.slower = []

    def add(self, before, during, after):
        self.slower.append(during / ((before + after) / 2) - 1)

    def median(self):
        return statistics.median(self.slower)

    def verdict(self, budget):
        low, high = interval(self.slower)
        return KEPT if high <= budget else MISSED if low > budget else UNDECIDED

    def __str__(self):
        low, high = interval(self.slower)
        return f"{100 * self.median():6.2f} % ({100 * low:.2f} to {100 * high:.2f}, {len(self.slower)} pairs)"


class Tool(NamedTuple):
    name: str
    attached: Any   # () -> context in which it is attached; the time that takes is not measured
    pairs: int = 1  # one after the other in a round
    prepare: Any = None  # what of it can be done before the bare turn that precedes it
    turns: int = 1  # in a row instead of one: more for a tool that is slow to attach


def run(measure, tools, seconds, least=1):
    """Rounds of all tools, with bare turns before and behind each of theirs. measure(): one turn, a cost. -> Pairs by name"""
    pairs = {tool.name: Pairs() for tool in tools}
    end, rounds = time.monotonic() + seconds, 0
    bare = {}  # the last measurement, when it was a bare one: by its number of turns

    def mean(turns):  # a median would leave out what befalls less than half of them, such as a sample
        return statistics.fmean(measure() for _ in range(turns))
    while rounds < least or time.monotonic() < end:
        rounds += 1
        for tool in tools:
            for _ in range(tool.pairs):
                if tool.prepare:
                    tool.prepare()
                    bare = {}
                before = bare.get(tool.turns) or mean(tool.turns)
                with tool.attached():
                    during = mean(2 * tool.turns)
                bare = {tool.turns: mean(tool.turns)}
                pairs[tool.name].add(before, during, bare[tool.turns])
    return pairs
