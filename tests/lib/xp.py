# SPDX-License-Identifier: Apache-2.0
"""What contract and live tests share: run xprobe and believe nothing that it prints; start and stop programs to be profiled.

Every document that passes through here is read by a strict parser, checked against its schema in schemas/, and weighed against its budget.
A test file defines functions test_* and ends with `xp.main()`.
"""
import contextlib
import functools
import inspect
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import jsonschema

SOURCE = pathlib.Path(os.environ.get("XP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("XP_BUILD_DIR", SOURCE / "build"))
XPROBE = os.environ.get("XPROBE", str(BUILD / "xprobe"))
TARGETS = BUILD / "tests" / "targets"
SCHEMAS = SOURCE / "schemas"
SKIPPED = 77

BUDGET = 16384
TRIAGE_BUDGET = 24576
TRIAGE_BUDGET_EACH = 8192
# Exit status of every error code, contract 1.5; anything else ends with 1.
EXITS = {"PERMISSION_DENIED": 4, "TARGET_NOT_FOUND": 3, "TARGET_EXITED": 3, "TARGET_REUSED": 3, "INVALID_ARGUMENT": 2}
CHECKED_EVENTS = 500
# Types of error.details, contract 1.4. A holder was an object here, and a limit of 2^64-1 came out as -1.
TEXT, COUNT, FLAG = str, int, bool
DETAILS = {
    **dict.fromkeys(("call", "errno", "object", "start_selector", "end_selector", "match_policy", "recommended_policy", "start_clock", "end_clock",
                     "capture_state", "edge", "endpoint", "cleanup_phase", "cleanup_error_code", "target_error_code", "original_error_code",
                     "artifact_path", "artifact_format", "holder"), TEXT),
    **dict.fromkeys(("captured_events", "host_events", "cuda_events", "observed_events", "max_events", "record_capacity", "observed_records",
                     "retained_records", "dropped_records", "dropped_events", "dropped_activities", "unknown_records", "observed_activities",
                     "group_capacity", "artifact_event_count"), COUNT),
    **dict.fromkeys(("timed_out", "cancelled"), FLAG), "candidates": list, "compatible_policies": list, "partial": dict, "limit": dict,
}


class Skip(Exception):
    """This test can't run here; the text says why."""


# ---- strict JSON ----

def _object(pairs):
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), f"duplicate key in {keys}"
    return dict(pairs)


def _constant(name):
    raise AssertionError(f"{name} is not JSON")


def _real(text):
    value = float(text)
    assert math.isfinite(value), f"{text} is not finite"
    return value


def parse(text):
    """One JSON document, strictly: no duplicate keys, no NaN, no lone surrogates."""
    value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_real)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def parse_stdout(data):
    """Exactly one document and one final LF, in UTF-8."""
    text = data.decode("utf-8")
    assert not text.startswith("\ufeff"), "byte order mark"
    assert text.endswith("\n") and not text.endswith("\n\n"), f"not exactly one LF at the end: {text[-80:]!r}"
    return parse(text)


# ---- schemas ----

def kind_of(doc):
    """Name of the schema that a document claims by its keys; None for inner values that have none."""
    has = doc.__contains__
    if doc.get("ok") is False and has("error"):
        return "error"
    if has("event_id"):
        return "event"
    if has("edges"):
        return "measurement-graph-validate" if has("valid") else "measurement-graph-result" if has("session_id") else "measurement-graph-spec"
    if not has("ok"):
        return "measurement-spec" if has("start_selector") else "cpu-sampling-spec" if has("sample_event") else \
            "syscall-aggregate-spec" if has("max_inflight") else None
    if has("valid"):
        return "validate" if has("policy_recommendation") else "cpu-sampling-validate" if has("perf_event") else \
            "syscall-aggregate-validate" if has("ebpf") else "triage-validate" if has("sources") else None
    if has("inventory"):
        inner = doc["inventory"]
        return "cpu-sample-inventory-result" if "sample_event" in inner else \
            "aggregate-inventory-result" if "start_selector" in inner else "syscall-aggregate-result"
    for key, kind in (("measurement", "measurement-result"), ("findings", "triage-result"), ("checks", "capability"), ("candidates", "discover"),
                      ("credentials", "inspect"), ("events", "host-capture"), ("mapping", "resolve"), ("output", "trace-export")):
        if has(key):
            return kind
    return None


@functools.lru_cache(maxsize=None)
def validator(kind):
    schema = parse((SCHEMAS / f"{kind}.schema.json").read_text("utf-8"))
    # jsonschema before 4.0 knows no draft 2020-12; draft 7 understands all that our schemas use but prefixItems.
    draft = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)
    draft.check_schema(schema)
    return draft(schema)


def check_schema(doc, kind=None):
    kind = kind or kind_of(doc)
    assert kind, f"no schema for a document with the keys {sorted(doc)}"
    errors = sorted(validator(kind).iter_errors(doc), key=lambda error: list(map(str, error.absolute_path)))
    assert not errors, f"{kind}: " + "; ".join(f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in errors[:5])
    return kind


def _specs_inside(doc):
    for finding in doc.get("findings") or []:
        if finding["next"].get("kind") == "measurement_spec":
            yield finding["next"]["spec"]
    for process in doc.get("processes") or []:
        yield from _specs_inside(process)


def budget_of(doc):
    """Largest size of the compact text, LF included; None when the evidence was asked for in full."""
    kind = kind_of(doc)
    if (doc.get("evidence") or {}).get("mode") == "full":
        return None
    if kind == "error":
        partial = doc["error"]["details"].get("partial")
        inner = budget_of(partial) if partial else 0
        return None if inner is None else BUDGET + inner
    if kind == "triage-result":
        return TRIAGE_BUDGET + TRIAGE_BUDGET_EACH * max(0, len(doc.get("processes") or []) - 1)
    return BUDGET if kind.endswith("-result") or kind in ("validate", "discover") else None


def check_accounts(doc):
    """emitted = delivered + dropped + filtered, for every source of every account in the document."""
    if isinstance(doc, dict):
        if {"emitted", "delivered", "dropped", "filtered"} <= doc.keys():
            assert doc["emitted"] == doc["delivered"] + doc["dropped"] + doc["filtered"], f"account does not add up: {doc}"
            assert sum(doc["dropped_reasons"].values()) == doc["dropped"], f"reasons do not add up: {doc}"
        for value in doc.values():
            check_accounts(value)
    elif isinstance(doc, list):
        for value in doc:
            check_accounts(value)


def artifact_of(doc):
    """The artifact that a result or error names; None when it names none."""
    if kind_of(doc) == "error":
        return doc["error"]["details"].get("artifact_path")
    return ((doc.get("evidence") or {}).get("artifact") or {}).get("path")


def read_events(path, limit=None):
    """Events of a jsonl artifact, each checked against its schema."""
    events = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            assert line.endswith("\n"), "last line is cut"
            events.append(parse(line))
            if len(events) <= CHECKED_EVENTS:
                check_schema(events[-1], "event")
            if limit and len(events) == limit:
                break
    return events


def check_artifact(doc):
    path = artifact_of(doc)
    if not path:
        return
    assert os.path.isabs(path), f"artifact path {path} is not absolute"
    info = os.lstat(path)
    assert info.st_mode & 0o777 == 0o600, f"mode {info.st_mode:o} of {path}"
    artifact = (doc.get("evidence") or {}).get("artifact")
    if artifact:
        assert artifact["bytes"] == info.st_size, f"{artifact} but {info.st_size} bytes on disk"
    if path.endswith(".jsonl"):
        read_events(path, CHECKED_EVENTS)
    elif path.endswith(".json") and (not artifact or artifact["format"] == "json"):
        inner = parse(pathlib.Path(path).read_text("utf-8"))
        if kind_of(inner):
            check_schema(inner)


def check_details(details):
    for key, value in details.items():
        assert type(value) is DETAILS.get(key), f"details.{key} is {value!r}"
        assert DETAILS[key] is not COUNT or value >= 0, f"details.{key} is {value}"
    assert len(details.get("candidates", ())) <= 20 and all(isinstance(text, str) for text in details.get("candidates", ())), details
    assert ("artifact_path" in details) == ("artifact_format" in details), details
    limit = details.get("limit", {"name": "", "value": 0, "minimum": 0, "maximum": 0})
    assert limit.keys() == {"name", "value", "minimum", "maximum"} and min(limit["value"], limit["minimum"], limit["maximum"]) >= 0, limit


def check(doc, size):
    """Everything that is true of every document."""
    check_schema(doc)
    check_accounts(doc)
    for spec in _specs_inside(doc):
        check_schema(spec, "measurement-spec")
    if kind_of(doc) == "error":
        check_details(doc["error"]["details"])
        partial = doc["error"]["details"].get("partial")
        if partial:
            assert partial["status"] == "failed", f"partial with status {partial['status']}"
            check_schema(partial)
    budget = budget_of(doc)
    assert budget is None or size <= budget, f"{size} bytes, budget {budget}"
    check_artifact(doc)
    return doc


# ---- running the tool ----

class Result:
    """Outcome of one run: exit, doc (checked; None for text output), out, err (bytes), seconds."""

    def __init__(self, command, status, out, err, seconds):
        self.command, self.exit, self.out, self.err, self.seconds, self.doc = command, status, out, err, seconds, None

    @property
    def error(self):
        return self.doc["error"] if self.doc and self.doc.get("ok") is False else None

    @property
    def code(self):
        return self.error["code"] if self.error else None

    @property
    def details(self):
        return self.error["details"]

    def __str__(self):
        return f"{' '.join(self.command)}\nexit {self.exit}\nstdout: {self.out[:3000]!r}\nstderr: {self.err[:2000]!r}"


def finish(process, timeout=60, text=False, started=None):
    """Waits for a run begun with start() and checks its document."""
    started = started or time.monotonic()
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{process.args} still runs after {timeout} s; stdout {out[:500]!r} stderr {err[:500]!r}") from None
    result = Result([str(arg) for arg in process.args], process.returncode, out, err, time.monotonic() - started)
    assert result.exit in (0, 1, 2, 3, 4), f"exit {result.exit}\n{result}"
    if text:
        return result
    try:
        result.doc = check(parse_stdout(out), len(out))
        assert result.exit == (EXITS.get(result.code, 1) if result.error else 0), f"exit {result.exit} with code {result.code}"
    except (AssertionError, ValueError, OSError, jsonschema.ValidationError) as problem:
        raise AssertionError(f"{problem}\n{result}") from problem
    return result


def start(*args, env=None, prefix=(), **options):
    """Begins a run of xprobe; finish() ends it. prefix: a command that runs it, e.g. setpriv."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([*prefix, XPROBE, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "TMPDIR": scratch(), **(env or {})}, **options)


def run(*args, exit=None, code=None, timeout=60, text=False, **options):
    """Runs xprobe and checks what it printed. exit, code: what is expected; code None with exit None accepts any documented outcome."""
    started = time.monotonic()
    result = finish(start(*args, **options), timeout, text, started)
    if code is not None:
        assert result.code == code, f"code {result.code}, expected {code}\n{result}"
    if exit is not None:
        assert result.exit == exit, f"exit {result.exit}, expected {exit}\n{result}"
    return result


def wait_armed(process, extra=0.4, timeout=20):
    """Until a run begun with start() has attached its BPF programs and `extra` seconds of its window have passed."""
    deadline = time.monotonic() + timeout
    before = -1
    while time.monotonic() < deadline:
        assert process.poll() is None, f"{process.args} ended before it was armed: {process.communicate()}"
        links = 0
        for path in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                links += os.readlink(path).startswith("anon_inode:bpf_link")
        if links and links == before:
            time.sleep(extra)
            return
        before = links
        time.sleep(0.1)
    raise AssertionError(f"{process.args} attached nothing in {timeout} s")


def ok(*args, **options):
    """Runs xprobe, expects success, returns the document."""
    return run(*args, exit=0, **options).doc


def fails(code, *args, **options):
    """Runs xprobe, expects that error, returns its details."""
    return run(*args, code=code, **options).details


# ---- places and programs ----

_scratch = []


def scratch():
    """Private folder of this test file, removed at its end; $TMPDIR of every run, so that artifacts go with it."""
    if not _scratch:
        _scratch.append(tempfile.mkdtemp(prefix="xprobe-test-"))
    return _scratch[0]


def spec_file(spec, name="spec.json"):
    path = pathlib.Path(scratch()) / name
    path.write_text(spec if isinstance(spec, str) else json.dumps(spec), "utf-8")
    return str(path)


class Target:
    """A program to be profiled. Used as `with xp.Target("name", args) as target`; it is killed at the end.

    ready: line of its stdout to wait for, or None. It gets SIGKILL when the test dies.
    """

    def __init__(self, program, *args, ready="ready", **options):
        path = str(program)
        if "/" not in path:
            path = str(TARGETS / path)
            if not os.path.exists(path):
                raise Skip(f"test program {program} was not built")
        self.process = subprocess.Popen([path, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.pid = self.process.pid
        if ready is not None:
            self.line = self.read_line()
            assert self.line.startswith(ready), f"{program} said {self.line!r} in place of {ready!r}"

    def read_line(self):
        return self.process.stdout.readline().decode().rstrip("\n")

    def tell(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def alive(self):
        return self.process.poll() is None

    def wait(self, timeout=30):
        return self.process.wait(timeout)

    def identity(self):
        return {"pid": self.pid, "process_start_time": start_time(self.pid)}

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def links_of(pid):
    """BPF links that a process holds: its probes are attached."""
    count = 0
    for entry in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*"):
        with contextlib.suppress(OSError):
            count += "link_type:" in entry.read_text()
    return count


def wait_for_links(run, seconds=30):
    """Until an xprobe that was started has attached something."""
    end = time.monotonic() + seconds
    while not links_of(run.pid) and run.poll() is None:
        assert time.monotonic() < end, f"nothing attached in {seconds} s"
        time.sleep(0.02)


def sleeper(seconds=60):
    """A target that does nothing."""
    return Target(shutil.which("sleep"), seconds, ready=None)


def stat_fields(pid):
    """Fields of /proc/PID/stat from the third on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()


def start_time(pid):
    return int(stat_fields(pid)[19])


def state_of(pid):
    return stat_fields(pid)[0].decode()


def unused_pid():
    """A number that no process has now."""
    pid = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text()) - 3
    while os.path.exists(f"/proc/{pid}"):
        pid -= 1
    return pid


def need_root():
    if os.geteuid() != 0:
        raise Skip("wants root")


def need_command(name):
    path = shutil.which(name)
    if not path:
        raise Skip(f"wants the command {name}")
    return path


def need_bpf():
    """Root, and a kernel that lets it load BPF programs, as `doctor` finds by trying."""
    need_root()
    features = {feature["feature"]: feature for feature in ok("doctor")["features"]}
    if features["syscall_trace"]["status"] != "available":
        raise Skip(f"no BPF here: {features['syscall_trace'].get('unblock')}")


def main():
    """Runs every test_* function of the calling file in order; exit 0, 1, or 77 when all were skipped."""
    tests = [(name, value) for name, value in inspect.stack()[1].frame.f_globals.items() if name.startswith("test_") and callable(value)]
    chosen = sys.argv[1:]
    passed, failed, skipped = 0, [], []
    try:
        for name, test in tests:
            if chosen and name not in chosen:
                continue
            started = time.monotonic()
            try:
                test()
                passed += 1
                print(f"ok   {name} ({time.monotonic() - started:.1f} s)", flush=True)
            except Skip as reason:
                skipped.append(str(reason))
                print(f"SKIP {name}: {reason}", flush=True)
            except Exception as problem:  # a failed test must not hide the next one
                failed.append(name)
                for frame in traceback.extract_tb(problem.__traceback__)[1:]:
                    print(f"  {os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}")
                print(f"FAIL {name}: {type(problem).__name__}: {problem}", flush=True)
    finally:
        for folder in _scratch:
            shutil.rmtree(folder, ignore_errors=True)
    if failed:
        sys.exit(1)
    if not passed:
        print(f"SKIP {'; '.join(sorted(set(skipped))) or 'no test chosen'}")
        sys.exit(SKIPPED)
    sys.exit(0)
