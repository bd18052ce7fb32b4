# SPDX-License-Identifier: Apache-2.0
"""The official Python client of the Model Context Protocol takes an agent's way through `xprobe mcp`: triage, the proposed spec, cancellation,
a refused second capture, and a target that is not modified before its user agreed."""
import asyncio
import contextlib
import os
import pathlib
import sys

# The client first: what it needs must not come from an older package of this machine.
sys.path.insert(0, str(pathlib.Path(os.environ["XP_SOURCE_DIR"]) / ".cache/mcp"))
try:
    from mcp import ClientSession, StdioServerParameters, stdio_client
    missing = None
except ImportError as problem:
    missing = problem
import programs  # noqa: E402
import xp  # noqa: E402


def need_client():
    if missing:
        raise xp.Skip(f"no client of the Model Context Protocol here, which `make setup` installs from PyPI where it can: {missing}")


@contextlib.asynccontextmanager
async def session():
    server = StdioServerParameters(command=xp.XPROBE, args=["mcp"], env={**os.environ, "TMPDIR": xp.scratch()})
    async with stdio_client(server) as (read, write), ClientSession(read, write) as client:
        await client.initialize()
        yield client


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    xp.check(result.structured_content, len(result.content[0].text))
    assert result.is_error == (result.structured_content["ok"] is False)
    return result.structured_content


def drive(way):
    """Runs it; the fault inside a task group is the one to tell."""
    try:
        asyncio.run(way)
    except BaseExceptionGroup as group:
        while isinstance(group, BaseExceptionGroup):
            group = group.exceptions[0]
        raise group from None


def test_an_agent_gets_from_a_pid_to_an_exact_answer():
    xp.need_bpf()
    need_client()

    async def way(pid):
        async with session() as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"doctor", "validate", "triage", "measure", "inventory"} <= names, names
            assert (await call(client, "doctor"))["capabilities"]["tracepoint"]
            triage = await call(client, "triage", pid=pid, duration_ms=1000)
            best = triage["findings"][0]
            assert (best["code"], best["subject"]) == ("syscall_blocked", "recvfrom"), best
            spec = {**best["next"]["spec"], "samples": 13}
            assert (await call(client, "validate", spec=spec))["valid"]
            result = await call(client, "measure", spec=spec)
            assert result["measurement"]["samples"]["matched"] == 13
            again = await call(client, "measure", input=[result["evidence"]["artifact"]["path"]], **{"from": spec["start_selector"]},
                               to=spec["end_selector"], match="exact", samples=13)
            assert again["measurement"]["latency_ns"] == result["measurement"]["latency_ns"]
            stacks = await call(client, "inventory", pid=pid, cpu_sample=True, off_cpu=True, duration_ms=500)
            assert stacks["off_cpu"]["blocks_total"] > 0, stacks["off_cpu"]

    with programs.server() as pid:
        drive(way(pid))


def test_one_capture_at_a_time_and_cancellation():
    xp.need_bpf()
    need_client()

    async def way(pid):
        async with session() as client:
            first = asyncio.create_task(call(client, "inventory", pid=pid, syscall_aggregate=True, duration_ms=30000))
            await asyncio.sleep(1.0)
            busy = await call(client, "triage", pid=pid, duration_ms=500)
            assert busy["error"]["code"] == "TARGET_BUSY" and "holder" in busy["error"]["details"], busy
            assert (await call(client, "validate", pid=pid, triage=True))["ok"]
            first.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await first
            for _ in range(50):
                answer = await call(client, "inventory", pid=pid, syscall_aggregate=True, duration_ms=200)
                if answer["ok"]:
                    break
                assert answer["error"]["code"] == "TARGET_BUSY", answer
                await asyncio.sleep(0.2)
            assert answer["ok"] and answer["status"] == "completed", answer

    with programs.server() as pid:
        drive(way(pid))


def maps_agent(pid):
    return "xprobe-agent" in pathlib.Path(f"/proc/{pid}/maps").read_text()


def test_a_target_is_not_modified_before_the_user_agreed():
    xp.need_bpf()
    need_client()

    async def way(pid):
        pair = {"from": "cuda:runtime_api:@launch:entry", "to": "cuda:kernel_start", "match": "exact"}
        async with session() as client:
            asked = await call(client, "measure", pid=pid, samples=7, **pair)
            assert asked["requirements"]["target_mutation"] and asked["requirements"]["agent_activation"] == "injection_required", asked
            assert any(warning["code"] == "TARGET_PROCESS_WILL_BE_MODIFIED" for warning in asked["warnings"]), asked["warnings"]
            assert not maps_agent(pid)
            done = await call(client, "measure", pid=pid, samples=7, allow_target_mutation=True, **pair)
            assert done["ok"] and done["measurement"]["samples"]["matched"] == 7, done
            assert maps_agent(pid)

    with programs.launching() as pid:
        drive(way(pid))


if __name__ == "__main__":
    xp.main()
