# SPDX-License-Identifier: Apache-2.0
"""The shop's nightly report, in Python: for each customer what else they might like. Looks harmless; one line of it searches a list. Runs
argv[1] seconds, and longer by the round that it is in.
"""
import random
import sys
import time

ITEMS = 4000


def also_bought(basket, seen):
    new = 0
    for item in basket:
        if item not in seen:  # a list: each look walks through it
            seen.append(item)
            new += 1
    return new


def total_price(basket):
    return sum(199 + item * 37 % 9000 for item in basket)


def report(customers):
    seen, turnover = [], 0
    for basket in customers:
        also_bought(basket, seen)
        turnover += total_price(basket)
    return turnover


def main():
    chance = random.Random(7)
    customers = [[chance.randrange(ITEMS) for _ in range(20)] for _ in range(500)]
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        report(customers)


main()
