# SPDX-License-Identifier: Apache-2.0
"""Contract 5 and 8.3 row by row: which outcome of resolving is an error record, which an issue, which a warning. B9, B10, B13, B14."""
import pathlib
import re
import subprocess

import xp

CALLS = str(xp.TARGETS / "calls")
SHAPES = xp.BUILD / "targets"
END = ["--to", f"uprobe:{CALLS}:work:return", "--match", "first-after"]


def entry(path, what):
    return ["--from", f"uprobe:{path}:{what}:entry"]


def validate(target, *args, **options):
    return xp.run("validate", "--pid", target.pid, *args, **options)


def issues(target, *args):
    """Issues of what is well-formed but cannot run now, rights aside: these tests need none."""
    doc = validate(target, *args, exit=0).doc
    found = [issue for issue in doc["issues"] if not (issue["code"] == "PERMISSION_DENIED" and issue["endpoint"] is None)]
    assert doc["valid"] == (not doc["issues"]), doc
    return found


def warnings(target, *args):
    return [warning["code"] for warning in validate(target, *args, exit=0).doc["warnings"]]


def libc_of(target):
    found = re.search(r" (/\S*/libc\.so\.6)$", pathlib.Path(f"/proc/{target.pid}/maps").read_text(), re.MULTILINE)
    if not found:
        raise xp.Skip("the target maps no glibc")
    return found[1]


def test_what_is_not_found_is_an_error_that_names_the_endpoint():
    with xp.Target("calls", "idle", 0) as target:
        for code, start in (("SYMBOL_NOT_FOUND", entry(CALLS, "no_such_function")), ("SYMBOL_NOT_FOUND", entry(CALLS, "+0xffffff")),
                            ("BINARY_NOT_MAPPED", entry("/bin/true", "main")), ("BINARY_NOT_MAPPED", entry("/nonexistent/file", "main")),
                            ("SYMBOL_NOT_FOUND", ["--from", "python:gc_start"]), ("SYMBOL_NOT_FOUND", ["--from", "tracepoint:sched:no_such_event"])):
            result = validate(target, *start, *END, code=code, exit=1)
            assert result.details["object"] == "start" and result.details["endpoint"] == "start", result
        result = validate(target, *entry(CALLS, "work"), "--to", f"uprobe:{CALLS}:no_such_function:return", "--match", "first-after",
                          code="SYMBOL_NOT_FOUND", exit=1)
        assert result.details["object"] == "end", result
        for start in ("uprobe:/x:y", "syscall:no_such_call:entry", "cuda:kernel_start:name~(", "cuda:kernel_start:name~(?=x)", "nonsense"):
            validate(target, "--from", start, *END, code="INVALID_EVENT_SELECTOR", exit=1)
        validate(target, *entry(CALLS, "work"), *END[:2], "--match", "closest", code="INVALID_CORRELATION_POLICY", exit=1)


def test_an_import_names_the_library_that_defines_it():
    with xp.Target("calls", "idle", 0) as target:
        libc = libc_of(target)
        result = validate(target, *entry(CALLS, "pthread_create"), *END, code="SYMBOL_NOT_FOUND", exit=1)
        assert result.details["candidates"] == [f"uprobe:{libc}:pthread_create:entry"] and libc in result.error["hints"][0], result
        assert issues(target, "--from", result.details["candidates"][0], *END) == []


def test_versions_of_a_symbol():
    with xp.Target("calls", "idle", 0) as target:
        libc = libc_of(target)
        names = subprocess.run(["readelf", "-W", "--dyn-syms", libc], capture_output=True, text=True, check=True).stdout
        default, = set(re.findall(r" pthread_cond_wait@@(\S+)", names))
        old = sorted(set(re.findall(r" pthread_cond_wait@(GLIBC\S+)", names)) - {default})
        found = {}
        for what in ("pthread_cond_wait", f"pthread_cond_wait@@{default}", *(f"pthread_cond_wait@{version}" for version in old)):
            doc = validate(target, *entry(libc, what), *END, exit=0).doc
            found[what] = (doc["start"]["host"]["symbol_version"], doc["start"]["host"]["file_offset"])
        assert found["pthread_cond_wait"] == found[f"pthread_cond_wait@@{default}"] and found["pthread_cond_wait"][0] == default, found
        for version in old:
            assert found[f"pthread_cond_wait@{version}"][0] == version and found[f"pthread_cond_wait@{version}"][1] != found["pthread_cond_wait"][1]
        result = validate(target, *entry(libc, "pthread_cond_wait@GLIBC_9.9"), *END, code="SYMBOL_NOT_FOUND", exit=1)
        assert any(default in candidate for candidate in result.details["candidates"]), result


def test_an_ifunc_is_refused_with_the_name_of_what_is_used():
    with xp.Target("calls", "idle", 0) as target:
        libc = libc_of(target)
        for name in ("strlen", "memcpy"):
            issue, = issues(target, *entry(libc, name), *END)
            assert issue["code"] == "PROBE_REFUSED" and issue["endpoint"] == "start" and f"{name} is an IFUNC" in issue["message"], issue
            result = xp.run("measure", "--pid", target.pid, *entry(libc, name), *END, "--samples", 7, code="PROBE_REFUSED", exit=1)
            for candidate in result.details.get("candidates", []):
                assert candidate in issue["message"] and issues(target, "--from", candidate, *END) == [], (candidate, issue)


def test_places_that_cannot_be_probed():
    with xp.Target("calls", "idle", 0) as target:
        for name in ("begins_trap", "begins_lock"):
            issue, = issues(target, *entry(CALLS, name), *END)
            assert issue["code"] == "PROBE_REFUSED" and issue["endpoint"] == "start", issue
        inside = validate(target, *entry(CALLS, "work"), *END, exit=0).doc["start"]["host"]["file_offset"] + 1
        issue, = issues(target, *entry(CALLS, f"+0x{inside:x}"), *END)
        assert issue["code"] == "PROBE_REFUSED", issue
        for name in ("begins_endbr", "only_ret", "begins_push"):
            assert issues(target, *entry(CALLS, name), *END) == []
        host = validate(target, *entry(CALLS, "begins_endbr"), *END, exit=0).doc["start"]["host"]
        assert host["probe_offsets"] == [host["file_offset"] + 4], host


def test_policies_that_the_pair_does_not_allow_are_an_issue():
    with xp.Target("calls", "idle", 0) as target:
        pairs = [([*entry(CALLS, "work"), "--to", f"uprobe:{CALLS}:work:return"], "stack_nested", {"exact", "stream-order"}),
                 ([*entry(CALLS, "work"), "--to", f"uprobe:{CALLS}:recurse:return"], "first_after", {"exact", "stack-nested", "stream-order"}),
                 (["--from", "syscall:read:entry", "--to", "syscall:read:exit"], "exact", {"stack-nested", "stream-order"}),
                 (["--from", "syscall:read:exit", "--to", "syscall:read:entry"], "first_after", {"exact", "stack-nested", "stream-order"})]
        for pair, recommended, refused in pairs:
            for policy in ("exact", "first-after", "nearest", "stack-nested", "stream-order"):
                doc = validate(target, *pair, "--match", policy, exit=0).doc
                assert doc["policy_recommendation"]["policy"] == recommended, doc["policy_recommendation"]
                assert (policy.replace("-", "_") in doc["policy_recommendation"]["compatible_policies"]) == (policy not in refused), (pair, policy)
                assert ("INVALID_CORRELATION_POLICY" in [issue["code"] for issue in doc["issues"]]) == (policy in refused), (pair, policy)
                assert ("HEURISTIC_CORRELATION" in [one["code"] for one in doc["warnings"]]) == (policy in ("first-after", "nearest")), doc["warnings"]


def test_gpu_selectors_without_a_gpu_program():
    with xp.Target("calls", "idle", 0) as target:
        kernels = ["--from", "cuda:kernel_start", "--to", "cuda:kernel_end", "--match", "exact"]
        found = [(issue["code"], issue["endpoint"]) for issue in issues(target, *kernels)]
        assert ("CUDA_CONTEXT_NOT_FOUND", "start") in found and ("CUDA_CONTEXT_NOT_FOUND", "end") in found, found
        assert "PERMISSION_DENIED" not in [code for code, _ in found], found
        assert "BROAD_EVENT_SELECTOR" in warnings(target, *kernels)
        named = ["--from", "cuda:kernel_start:name~flash", "--to", "cuda:kernel_end:name~flash", "--match", "exact"]
        assert "BROAD_EVENT_SELECTOR" not in warnings(target, *named)
        doc = validate(target, *named, exit=0).doc
        assert doc["requirements"]["needs_cupti_activity"] and not doc["requirements"]["needs_ebpf"], doc["requirements"]


def test_kernel_return_probes_of_cxx_only_when_asked():
    path = SHAPES / "cxx"
    if not path.exists():
        raise xp.Skip("cxx was not built")
    pair = ["--from", f"uprobe:{path}:symbol=throws_some(int):entry", "--to", f"uprobe:{path}:symbol=throws_some(int):return", "--match", "stack-nested"]
    with xp.Target(path) as target:
        doc = validate(target, *pair, exit=0).doc
        assert doc["end"]["host"]["return_method"] == "exit_sites" and len(doc["end"]["host"]["probe_offsets"]) >= 2 and not doc["warnings"], doc
        doc = validate(target, *pair, "--allow-cxx-return", exit=0).doc
        assert doc["end"]["host"]["return_method"] == "uretprobe" and [one["code"] for one in doc["warnings"]] == ["CXX_RETURN_PROBE"], doc
        found = validate(target, "--from", f"uprobe:{path}:symbol=fun(int):entry", *END[:1], f"uprobe:{path}:c_fun:return", "--match", "first-after", exit=0)
        assert found.doc["start"]["host"]["symbol_demangled"] == "fun(int)", found


def test_a_filter_of_threads_is_checked_as_measure_checks_it():
    """validate called a triage with a broken regex valid, and every inventory whose filter fits no thread."""
    with xp.sleeper() as target:
        for mode in ("--cpu-sample", "--syscall-aggregate", "--triage"):
            for words in ("no pattern", "name~(", "name~^nobody$"):
                error = xp.run("validate", "--pid", target.pid, mode, "--threads", words, code="INVALID_EVENT_SELECTOR", exit=1).error
                assert words != "name~^nobody$" or error["details"]["candidates"], error
            assert xp.run("validate", "--pid", target.pid, mode, "--threads", "name~.", exit=0).doc["ok"]


if __name__ == "__main__":
    xp.main()
