# SPDX-License-Identifier: Apache-2.0
"""Slow because one handler of an event loop calls something that blocks, and everybody else waits."""
import asyncio
import time


def load_profile(user):
    time.sleep(0.03)  # a client library that knows nothing of asyncio
    return user


async def handle_request(user):
    await asyncio.sleep(0)
    return load_profile(user)


async def heartbeat():
    while True:
        await asyncio.sleep(0.005)


async def main():
    beat = asyncio.ensure_future(heartbeat())
    print("ready", flush=True)
    user = 0
    while not beat.done():
        user += 1
        await handle_request(user)


asyncio.run(main())
