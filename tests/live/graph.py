# SPDX-License-Identifier: Apache-2.0
"""Measurement graphs: prime counts of every edge from one capture, the failing edge by name, offline repetition, every fault in one look."""
import copy
import shlex
import time

import xp

PROGRAM = str(xp.TARGETS / "graph")
HANDLE, PARSE, CALL, STORE = 211, 101, 307, 53
COUNTS = (HANDLE, PARSE, CALL, STORE)


def function(name, side):
    return f"uprobe:{PROGRAM}:{name}:{side}"


ENDPOINTS = {
    "in": function("handle", "entry"), "out": function("handle", "return"),
    "parse-in": function("parse", "entry"), "parse.out": function("parse", "return"),
    "call": "syscall:getppid:entry", "back": "syscall:getppid:exit",
    "store": function("store", "entry"), "stored": function("store", "return"),
    "call_again": "syscall:getppid:entry", "never": function("never", "entry"),
}
# name, start, end, policy, matched, unmatched starts, unmatched ends
EDGES = [
    ("handle", "in", "out", "stack_nested", HANDLE, 0, 0),
    ("to_parse", "in", "parse-in", "first_after", PARSE, HANDLE - PARSE, 0),
    ("ppid", "call", "back", "exact", CALL, 0, 0),
    ("parse", "parse-in", "parse.out", "stack_nested", PARSE, 0, 0),
    ("from_parse", "parse.out", "out", "first_after", PARSE, 0, HANDLE - PARSE),
    ("store", "store", "stored", "stack_nested", STORE, 0, 0),
    ("between_calls", "back", "call_again", "first_after", CALL - 1, 1, 1),
    ("between_stores", "store", "store", "first_after", STORE - 1, 1, 1),
]
NEVER = ("never", "never", "out", "first_after", 0, 0, HANDLE)


def graph(target, edges, **more):
    used = {name for edge in edges for name in edge[1:3]}
    return {"schema_version": "3.0", "name": "request_path", "target": target.identity(),
            "endpoints": {name: text for name, text in ENDPOINTS.items() if name in used},
            "edges": [dict(zip(("name", "start", "end", "match_policy"), edge)) for edge in edges],
            "samples": None, "duration_ms": 1500, "timeout_ms": 30000, "max_events": 20000, "max_cost": 0, **more}


def measure(edges, *flags, **more):
    """One capture of the whole program."""
    with xp.Target("graph", *COUNTS) as target:
        process = xp.start("measure", "--spec", xp.spec_file(graph(target, edges, **more)), *flags)
        xp.wait_armed(process)
        target.tell("")
        assert target.read_line() == "done"
        return xp.finish(process)


def check_edge(edge, expected):
    name, start, end, policy, matched, starts, ends = expected
    assert (edge["name"], edge["start"], edge["end"], edge["match_policy"]) == (name, start, end, policy), edge
    assert edge["samples"] == {"matched": matched, "unmatched_start": starts, "unmatched_end": ends, "ambiguous": 0, "dropped": 0}, (name, edge)


def again(path, edge, *bounds):
    """The same edge alone, from the artifact."""
    return xp.ok("measure", "--input", path, "--from", ENDPOINTS[edge["start"]], "--to", ENDPOINTS[edge["end"]], "--match", edge["match_policy"],
                 *(bounds or ("--duration-ms", 600000)))


def check_offline(edge, doc):
    assert doc["measurement"]["samples"] == edge["samples"], (edge["name"], edge["samples"], doc["measurement"]["samples"])
    assert doc["measurement"]["latency_ns"] == edge["latency_ns"], edge["name"]
    assert doc["correlation"] == edge["correlation"] and doc["clock"] == edge["clock"], edge["name"]
    for compact, whole in zip(edge["exemplars"], doc["evidence"]["exemplars"]):
        assert compact == {"rank": whole["rank"], "latency_ns": whole["latency_ns"], "start_event_id": whole["start"]["event_id"],
                           "end_event_id": whole["end"]["event_id"], "start_ns": whole["start"]["timestamp_ns"],
                           "end_ns": whole["end"]["timestamp_ns"]}, edge["name"]


def test_three_edges_with_a_shared_endpoint():
    xp.need_bpf()
    doc = measure(EDGES[:3]).doc
    assert doc["ok"] and doc["status"] == "completed" and len(doc["edges"]) == 3, doc
    for edge, expected in zip(doc["edges"], EDGES):
        check_edge(edge, expected)
    # The entry of handle serves two edges and was armed once.
    assert doc["collection"]["host_events"] == 2 * HANDLE + PARSE + 2 * CALL, doc["collection"]
    assert sum(one["delivered"] for one in doc["collection"]["sources"]) == doc["collection"]["host_events"]


def test_edges_between_the_same_endpoints_cost_no_event_more():
    xp.need_bpf()
    one = measure(EDGES[:1]).doc
    four = measure([EDGES[0], ("waiting", "in", "out", "first_after"), ("near", "in", "out", "nearest"), ("gap", "out", "in", "first_after")]).doc
    assert one["cost"]["probe_events"] == four["cost"]["probe_events"] == 2 * HANDLE, (one["cost"], four["cost"])
    assert [edge["samples"]["matched"] for edge in four["edges"]] == [HANDLE, HANDLE, HANDLE, HANDLE - 1], four["edges"]


def test_eight_edges_and_each_again_offline():
    xp.need_bpf()
    result = measure(EDGES)
    doc = result.doc
    assert doc["ok"] and len(doc["edges"]) == 8, doc
    assert doc["collection"]["host_events"] == 2 * (HANDLE + PARSE + CALL + STORE), doc["collection"]
    assert doc["quality"]["verdict"] == "caution" and doc["evidence"]["mode"] == "summary"
    for edge, expected in zip(doc["edges"], EDGES):
        check_edge(edge, expected)
        assert [one["rank"] for one in edge["exemplars"]] == ["min", "p50", "p90", "p99", "max"] and edge["pairs"] is None
        check_offline(edge, again(xp.artifact_of(doc), edge))


def test_samples_end_the_window_when_every_edge_has_them():
    xp.need_bpf()
    bound = STORE - 1  # the rarest edge meets it last
    doc = measure(EDGES, samples=bound, duration_ms=None).doc
    assert doc["ok"] and doc["status"] == "completed", doc
    for edge in doc["edges"]:
        assert edge["samples"]["matched"] == bound, edge
        check_offline(edge, again(xp.artifact_of(doc), edge, "--samples", bound))


def test_full_evidence_lists_every_pair():
    xp.need_bpf()
    doc = measure(EDGES[:2], "--evidence", "full").doc
    assert [len(edge["pairs"]) for edge in doc["edges"]] == [HANDLE, PARSE], doc["evidence"]
    for edge in doc["edges"]:
        assert sorted(pair["latency_ns"] for pair in edge["pairs"])[-1] == edge["latency_ns"]["max"]
        assert all(pair["start"]["event_type"] == "host_function_entry" for pair in edge["pairs"])


def test_an_edge_without_pairs_is_named_and_the_others_are_told():
    xp.need_bpf()
    result = measure([EDGES[0], NEVER, EDGES[2]])
    assert result.exit == 1 and result.code == "NO_MATCHED_SAMPLES", result
    details = result.details
    assert details["edge"] == "never" and details["start_selector"] == ENDPOINTS["never"], details
    partial = details["partial"]
    assert [edge["latency_ns"] is None for edge in partial["edges"]] == [False, True, False], partial
    check_edge(partial["edges"][0], EDGES[0])
    check_edge(partial["edges"][1], NEVER)
    check_edge(partial["edges"][2], EDGES[2])
    assert details["artifact_event_count"] == 2 * HANDLE + 2 * CALL
    check_offline(partial["edges"][2], again(details["artifact_path"], partial["edges"][2]))


def test_people_are_told_which_edge_failed():
    xp.need_bpf()
    with xp.Target("graph", *COUNTS) as target:
        process = xp.start("measure", "--spec", xp.spec_file(graph(target, [EDGES[0], NEVER], duration_ms=600)), "--human")
        result = xp.finish(process, text=True)
    assert result.exit == 1 and not result.out and b"\n  edge: handle\n" in result.err, result


def test_a_full_capture_fails_although_one_edge_is_complete():
    xp.need_bpf()
    result = measure([EDGES[0], EDGES[5]], samples=STORE - 1, duration_ms=None, max_events=2 * HANDLE)
    assert result.code == "EVENT_RATE_TOO_HIGH" and result.details["edge"] == "store", result
    assert result.details["partial"]["edges"][0]["samples"]["matched"] == STORE - 1


def test_unmatched_bound_holds_for_each_edge():
    xp.need_bpf()
    result = measure(EDGES[:2], "--max-unmatched", "0.1")
    assert result.code == "HIGH_UNMATCHED_RATE" and result.details["edge"] == "to_parse", result


def test_a_target_that_ends_is_no_edge_s_fault():
    xp.need_bpf()
    with xp.Target("graph", *COUNTS) as target:
        process = xp.start("measure", "--spec", xp.spec_file(graph(target, EDGES[:3], duration_ms=20000)))
        xp.wait_armed(process)
        target.tell("")
        assert target.read_line() == "done"
        time.sleep(0.3)
        target.stop()
        result = xp.finish(process)
    assert result.exit == 3 and result.code == "TARGET_EXITED" and "edge" not in result.details, result
    assert [edge["samples"]["matched"] for edge in result.details["partial"]["edges"]] == [HANDLE, PARSE, CALL]


def test_people_get_one_line_an_edge_and_a_command_that_runs():
    xp.need_bpf()
    with xp.Target("graph", *COUNTS) as target:
        process = xp.start("measure", "--spec", xp.spec_file(graph(target, EDGES)), "--human")
        xp.wait_armed(process)
        target.tell("")
        lines = xp.finish(process, text=True).out.decode("utf-8").splitlines()
    for name, *_, matched, _, _ in EDGES:
        assert any(line[2:].split()[:2] == [name, str(matched)] for line in lines), (name, lines)
    command = next(line.strip() for line in lines if line.strip().startswith(xp.XPROBE + " measure --input "))
    assert all(len(line) <= 100 for line in lines if line.strip() != command), lines
    doc = xp.ok(*shlex.split(command)[1:])
    assert doc["measurement"]["samples"]["matched"] in {edge[4] for edge in EDGES}


LAUNCHES = 127


def test_request_to_launch_to_kernel_from_one_capture():
    """The fake CUDA: each launch of the program enters a host function, the runtime API and one kernel."""
    xp.need_bpf()
    fake = xp.BUILD / "tests/fake"
    endpoints = {"request": f"uprobe:{fake}/13/libcudart.so.13:fake_launch:entry", "launch": "cuda:runtime_api:cudaLaunchKernel:entry",
                 "k_start": "cuda:kernel_start:name~^k$", "k_end": "cuda:kernel_end:name~^k$"}
    edges = [("request_to_launch", "request", "launch", "first_after"), ("launch_to_kernel", "launch", "k_start", "exact"),
             ("kernel", "k_start", "k_end", "exact")]
    with xp.Target(fake / "app13", ready=None) as target:
        for line in (f"cupti {fake}/13/libcupti.so.13", f"agent {xp.BUILD}/libxprobe-agent.so"):
            target.tell(line)
            assert target.read_line() == "0", line
        spec = graph(target, [])
        spec.update(endpoints=endpoints, edges=[dict(zip(("name", "start", "end", "match_policy"), edge)) for edge in edges])
        doc, found = faults(spec)
        assert not found and doc["limits"]["cuda_filters"]["used"] == 3 and doc["limits"]["linux_slots"]["used"] == 1, doc
        assert doc["requirements"]["needs_ebpf"] and doc["requirements"]["needs_cupti_callback"] and doc["requirements"]["needs_clock_alignment"]
        process = xp.start("measure", "--spec", xp.spec_file(spec))
        xp.wait_armed(process)
        target.tell(f"launch 1 {LAUNCHES} k 3000")
        doc = xp.finish(process).doc
    assert doc["ok"], doc
    assert [edge["samples"]["matched"] for edge in doc["edges"]] == [LAUNCHES] * 3, doc["edges"]
    assert doc["collection"]["host_events"] == LAUNCHES and doc["collection"]["cuda_events"] == 3 * LAUNCHES, doc["collection"]
    assert doc["edges"][1]["correlation"]["method"] == "exact_cupti_correlation_id"
    for edge in doc["edges"]:
        again = xp.ok("measure", "--input", xp.artifact_of(doc), "--from", endpoints[edge["start"]], "--to", endpoints[edge["end"]], "--match",
                      edge["match_policy"], "--duration-ms", 600000)
        check_offline(edge, again)


def faults(spec, exit=0):
    """(scope, name, rule, code) of every issue that `validate` tells."""
    doc = xp.run("validate", "--spec", xp.spec_file(spec), exit=exit).doc
    assert doc["ok"] and doc["valid"] == (not doc["issues"]), doc
    return doc, [(one["scope"], one["name"], one["rule"], one["code"]) for one in doc["issues"]]


def test_a_good_graph_is_valid_and_merges_equal_selectors():
    xp.need_bpf()
    with xp.Target("graph", *COUNTS) as target:
        doc, found = faults(graph(target, EDGES))
    assert not found and all(edge["valid"] for edge in doc["edges"]), doc
    assert doc["limits"] == {"edges": {"used": 8, "maximum": 8}, "endpoints": {"used": 9, "maximum": 16},
                             "cuda_filters": {"used": 0, "maximum": 8}, "linux_slots": {"used": 8, "maximum": 16}}, doc["limits"]
    assert doc["requirements"]["needs_ebpf"] and doc["requirements"]["agent_activation"] == "not_required"
    assert doc["endpoints"][0]["used_by"] == ["handle", "to_parse"]
    assert next(one for one in doc["endpoints"] if one["name"] == "call_again")["endpoint"]["selector"] == ENDPOINTS["call"]


def changed(spec, change):
    spec = copy.deepcopy(spec)
    change(spec)
    return spec


def test_each_fault_has_its_scope_rule_and_code():
    xp.need_bpf()
    selector, limit = "INVALID_EVENT_SELECTOR", "SESSION_LIMIT_EXCEEDED"
    cuda = {f"k{i}": f"cuda:kernel_{side}:name~^k{i // 2}$" for i in range(8) for side in [("start", "end")[i % 2]]}
    cases = [
        (lambda s: s["edges"].clear(), ("graph", None, "edge_count", limit)),
        (lambda s: s["endpoints"].clear(), ("graph", None, "endpoint_count", limit)),
        (lambda s: s.update(duration_ms=None), ("graph", None, "bounds", limit)),
        (lambda s: s.update(timeout_ms=0), ("graph", None, "bounds", limit)),
        (lambda s: s.update(max_events=50000001), ("graph", None, "bounds", limit)),
        (lambda s: s.update(max_cost=1.5), ("graph", None, "bounds", limit)),
        (lambda s: s["edges"].append({**s["edges"][0], "name": "again"}), ("graph", None, "duplicate_edge", selector)),
        (lambda s: s["edges"].append({**s["edges"][0], "match_policy": "nearest"}), ("graph", None, "duplicate_edge", selector)),
        (lambda s: s["endpoints"].update(extra="syscall:read:entry"), ("endpoint", "extra", "unused", selector)),
        (lambda s: s["endpoints"].update({"in": "syscall:no_such_call:entry"}), ("endpoint", "in", "selector", selector)),
        (lambda s: s["endpoints"].update({"in": function("no_such", "entry")}), ("endpoint", "in", "resolution", "SYMBOL_NOT_FOUND")),
        (lambda s: s["endpoints"].update({"in": "uprobe:/no/file:f:entry"}), ("endpoint", "in", "resolution", "BINARY_NOT_MAPPED")),
        (lambda s: s["endpoints"].update({"in": "cuda:kernel_start"}), ("endpoint", "in", "capability", "CUDA_CONTEXT_NOT_FOUND")),
        (lambda s: s["edges"][0].update(end="nowhere"), ("edge", "handle", "unknown_endpoint", selector)),
        (lambda s: s["edges"][2].update(match_policy="stack_nested"), ("edge", "ppid", "policy", "INVALID_CORRELATION_POLICY")),
        (lambda s: s["endpoints"].update(cuda, k8="cuda:memset_start"), ("graph", None, "cuda_filters", limit)),
    ]
    with xp.Target("graph", *COUNTS) as target:
        good = graph(target, EDGES[:3])
        for number, (change, expected) in enumerate(cases):
            spec = changed(good, change)
            _, found = faults(spec)
            assert expected in found, (number, expected, found)
            first = found[0]
            result = xp.run("measure", "--spec", xp.spec_file(spec), exit=1, code=first[3])
            assert result.details.get("edge") == (first[1] if first[0] == "edge" else None), (number, result)


def test_one_look_tells_every_fault():
    xp.need_bpf()

    def break_all(spec):
        spec["duration_ms"] = None
        spec["endpoints"].update({"in": function("no_such", "entry"), "call": "nonsense", "extra": "syscall:read:entry"})
        spec["edges"][1]["end"] = "nowhere"

    with xp.Target("graph", *COUNTS) as target:
        doc, found = faults(changed(graph(target, EDGES[:3]), break_all))
    assert set(found) == {
        ("graph", None, "bounds", "SESSION_LIMIT_EXCEEDED"), ("endpoint", "in", "resolution", "SYMBOL_NOT_FOUND"),
        ("endpoint", "call", "selector", "INVALID_EVENT_SELECTOR"), ("endpoint", "extra", "unused", "INVALID_EVENT_SELECTOR"),
        ("endpoint", "parse-in", "unused", "INVALID_EVENT_SELECTOR"), ("edge", "to_parse", "unknown_endpoint", "INVALID_EVENT_SELECTOR"),
    }, found
    assert [edge["valid"] for edge in doc["edges"]] == [False, False, False] and doc["edges"][0]["requirements"] is None, doc["edges"]
    assert {one["name"]: one["endpoint"] is None for one in doc["endpoints"]} == {
        "in": True, "out": False, "parse-in": False, "call": True, "back": False, "extra": False}, doc["endpoints"]


def test_malformed_specs_are_errors():
    with xp.Target("graph", *COUNTS) as target:
        good = graph(target, EDGES[:3])
        for change in (lambda s: s.pop("max_events"), lambda s: s.update(surplus=1), lambda s: s["edges"][0].update(match_policy="fastest"),
                       lambda s: s.update(endpoints=[]), lambda s: s["endpoints"].update({"a b": "syscall:read:entry"}),
                       lambda s: s["endpoints"].update({"in": 7}), lambda s: s["edges"][0].update(name=""), lambda s: s.update(schema_version="2.0")):
            for command in ("validate", "measure"):
                xp.run(command, "--spec", xp.spec_file(changed(good, change)), exit=1, code="INVALID_EVENT_SELECTOR")
        for format in ("folded", "speedscope"):  # before anything is attached
            xp.run("measure", "--spec", xp.spec_file(good), "--events-out", xp.scratch() + "/out", "--format", format, exit=2, code="INVALID_ARGUMENT")
        good["target"]["process_start_time"] += 1
        for command in ("validate", "measure"):
            xp.run(command, "--spec", xp.spec_file(good), exit=3, code="TARGET_REUSED")


if __name__ == "__main__":
    xp.main()
