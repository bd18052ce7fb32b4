# SPDX-License-Identifier: Apache-2.0
"""Slow because one function of a pure Python program looks through a list."""
def find_customer(customers, wanted):
    for customer in customers:
        if customer["id"] == wanted:
            return customer
    return None


def prepare():
    return [{"id": i, "name": f"customer {i}"} for i in range(3000)]


rows = prepare()
print("ready", flush=True)
number = 0
while True:
    number = (number * 7919 + 13) % 3000
    find_customer(rows, number)
