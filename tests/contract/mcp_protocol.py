# SPDX-License-Identifier: Apache-2.0
"""`xprobe mcp` speaks JSON-RPC line by line: what is malformed gets an error and never ends it; what is cancelled or over ends cleanly."""
import json
import os
import signal
import subprocess
import time

import jsonschema
import xp


class Session:
    def __init__(self):
        self.process = subprocess.Popen([xp.XPROBE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, "TMPDIR": xp.scratch()})

    def send(self, message):
        self.process.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self.process.stdin.flush()

    def receive(self):
        return xp.parse(self.process.stdout.readline().decode())

    def ask(self, method, params=None, id=1):
        self.send({"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params is not None else {})})
        answer = self.receive()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == id, answer
        return answer

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        document = result["structuredContent"]
        xp.check_schema(document)
        assert json.loads(result["content"][0]["text"]) == document
        assert result["isError"] == (document["ok"] is False)
        return document

    def end(self):
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def test_initialize_answers_with_the_version_asked_for_or_the_newest():
    with Session() as session:
        for version in ("2024-11-05", "2025-06-18"):
            result = session.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})["result"]
            assert result["protocolVersion"] == version and "tools" in result["capabilities"] and result["serverInfo"]["name"] == "xprobe"
        newest = session.ask("initialize", {"protocolVersion": "1999-01-01"}, id="text")["result"]["protocolVersion"]
        assert newest >= "2025-06-18", newest
        assert session.ask("ping", id=18446744073709551615)["result"] == {}
        assert session.end()[0] == 0


def test_tools_are_those_of_the_contract_and_their_schemas_those_of_the_flags():
    with Session() as session:
        tools = {tool["name"]: tool for tool in session.ask("tools/list")["result"]["tools"]}
        assert {"doctor", "validate", "triage", "measure", "inventory"} <= set(tools) <= {"doctor", "discover", "validate", "triage", "measure", "inventory"}
        for tool in tools.values():
            jsonschema.Draft7Validator.check_schema(tool["inputSchema"])
            assert tool["description"] and tool["inputSchema"]["additionalProperties"] is False
        triage = tools["triage"]["inputSchema"]["properties"]
        assert {"pid", "duration_ms", "tree", "allow_target_mutation"} <= set(triage) and not {"triage", "samples", "spec", "input"} & set(triage)
        assert triage["duration_ms"]["minimum"] == 1 and triage["duration_ms"]["maximum"] == 3600000
        measure = tools["measure"]["inputSchema"]
        spec = json.loads((xp.SOURCE / "skills/xprobe-measure-latency/examples/graph.json").read_text())
        draft = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)
        assert not list(draft(measure).iter_errors({"spec": spec}))
        assert list(draft(measure).iter_errors({"spec": {**spec, "edgez": []}}))
        assert list(draft(measure).iter_errors({"from_selector": "x"}))


def test_malformed_input_is_an_error_and_never_the_end():
    with Session() as session:
        for line, code in ((b"{", -32700), (b"[]", -32600), (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600), (b'{"id":3}', -32600),
                           (b'{"jsonrpc":"2.0","id":3,"method":"no/such"}', -32601), (b"\xff\xfe", -32700),
                           (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"rm"}}', -32602),
                           (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"doctor","arguments":[]}}', -32602),
                           (b'{"jsonrpc":"2.0","id":3,"method":"tools/call"}', -32602),
                           (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":"' + b"x" * (5 << 20) + b'"}', -32700)):
            session.send(line)
            answer = session.receive()
            assert answer["error"]["code"] == code, (line[:80], answer)
        session.send(b"")
        session.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        session.send({"jsonrpc": "2.0", "id": 9, "result": {}})
        assert session.ask("ping")["result"] == {}


def test_errors_of_a_command_are_results_that_carry_the_record():
    with Session() as session:
        assert session.call("triage", pid=xp.unused_pid(), duration_ms=500)["error"]["code"] == "TARGET_NOT_FOUND"
        assert session.call("triage", pid=1, durations=5)["error"]["details"]["object"] == "durations"
        assert session.call("triage", pid="one", duration_ms=500)["error"]["code"] == "INVALID_ARGUMENT"
        assert session.call("measure", spec={"schema_version": "2.0"})["error"]["code"] == "INVALID_EVENT_SELECTOR"
        assert session.call("measure", pid=[1] * 300)["error"]["code"] == "INVALID_ARGUMENT"
        assert session.call("doctor")["ok"] is True


def test_an_answer_cannot_be_taken_for_flags():
    with Session() as session:
        document = session.call("measure", pid=os.getpid(), **{"from": "--help", "to": "syscall:read:exit"}, match="exact", samples=1)
        assert document["ok"] is False and document["error"]["code"] == "INVALID_EVENT_SELECTOR", document


def test_an_argument_that_gives_nothing_does_not_skip_the_validation():
    with xp.sleeper() as target, Session() as session:
        cuda = {"from": "cuda:kernel_start:name~x", "to": "cuda:kernel_end:name~x", "match": "exact", "samples": 1, "pid": target.pid}
        for nothing in (None, []):
            document = session.call("measure", input=nothing, spec=nothing, **cuda)
            assert document.get("valid") is False, document


def test_values_that_no_command_line_can_carry_are_refused():
    with Session() as session:
        host = {"pid": os.getpid(), "to": "syscall:read:exit", "match": "exact"}
        for value in ("x" * 200000, "syscall:read:entry\0:exit"):
            assert session.call("validate", **{"from": value}, **host)["error"]["code"] == "INVALID_ARGUMENT"
        assert session.call("validate", **{"from": False}, **host)["error"]["code"] == "INVALID_EVENT_SELECTOR"


def test_a_client_that_does_not_read_holds_up_no_signal():
    with Session() as session:
        for _ in range(20):  # far more than a pipe takes
            session.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        time.sleep(1)
        session.process.send_signal(signal.SIGTERM)
        assert session.process.wait(10) == 1
        _, _, err = session.end()
        assert b"OUTPUT_FAILED" in err, err


def test_the_end_of_input_ends_it_also_beside_a_capture():
    xp.need_bpf()
    with xp.sleeper() as target, Session() as session:
        session.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "inventory", "arguments": {"pid": target.pid, "syscall_aggregate": True, "duration_ms": 20000}}})
        time.sleep(1)
        started = time.monotonic()
        status, out, _ = session.end()
        assert status == 0 and time.monotonic() - started < 10
        assert json.loads(out)["result"]["structuredContent"]["status"] == "cancelled"


def test_a_cancellation_right_behind_its_call_is_not_lost():
    xp.need_bpf()
    with xp.sleeper() as target:
        for pause in (0, 0, 0, 0.002, 0.01):
            with Session() as session:
                session.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                              "params": {"name": "inventory", "arguments": {"pid": target.pid, "syscall_aggregate": True, "duration_ms": 20000}}})
                time.sleep(pause)
                for _ in range(3):
                    session.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
                assert session.end()[:2] == (0, b""), pause


def test_a_signal_ends_it_like_the_end_of_input():
    with Session() as session:
        assert session.ask("ping")["result"] == {}
        session.process.send_signal(signal.SIGTERM)
        assert session.process.wait(10) == 0


def test_a_client_that_is_gone_ends_it():
    with Session() as session:
        session.process.stdout.close()
        session.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert session.process.wait(10) == 1
        session.process.stdout = open(os.devnull, "rb")  # for communicate


if __name__ == "__main__":
    xp.main()
