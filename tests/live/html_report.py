# SPDX-License-Identifier: Apache-2.0
"""The html report: from a real triage and a real graph, in a headless browser. It renders without a script error and asks for nothing but its own file;
search finds the hot function, zoom and keys work, both themes, phone and print; names of a target stay text."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import browser
import xp

HOT_SHARE = "(() => { const m = /([0-9.]+)%/.exec(document.querySelector('#cpu .found').textContent); return m ? Number(m[1]) : 0; })()"
BOX = "#cpu .box"
CRUEL = "<script>x</script>"  # at most 15 bytes of it are a thread's name


def page_of(name):
    return pathlib.Path(xp.scratch()) / f"{name}.html"


def triage_page(pid, name, *more):
    """A report, its file checked from outside."""
    path = page_of(name)
    doc = xp.ok("measure", "--pid", pid, "--triage", "--duration-ms", 700, "--max-cost", 0, "--events-out", path, "--json", *more)
    check_file(path)
    assert doc["evidence"]["artifact"]["path"].endswith("/triage.json"), doc["evidence"]
    return doc


def check_file(path):
    info = os.lstat(path)
    assert info.st_mode & 0o777 == 0o600, f"mode {info.st_mode:o}"
    text = path.read_text("utf-8")
    assert not re.search(r"https?://|innerHTML|<link|<img|@import|url\(", text), re.search(r".{60}(https?://|innerHTML|<link|<img|@import|url\().{60}", text)
    assert text.startswith("<!doctype html>") and text.endswith("</html>\n")
    assert [entry for entry in os.listdir(path.parent) if ".tmp" in entry] == [], os.listdir(path.parent)
    print(f"  {path.name}: {info.st_size} bytes")


def data_of(path):
    return xp.parse(re.search(r'id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)[1])


def check_quiet(page, path):
    assert page.problems == [], page.problems
    assert page.requests == [path.as_uri()], page.requests


def open_page(page, path):
    page.open(path)
    check_quiet(page, path)


def hot_page():
    """Made once: half of the time in each of two functions with names that a search can tell apart."""
    path = page_of("hot")
    if not path.exists():
        with xp.Target("load", "spin") as target:
            doc = triage_page(target.pid, "hot")
        check_document(doc, path)
    return path


def check_document(doc, path):
    data = data_of(path)
    inside = data["document"]
    for key in ("session_id", "window", "findings", "sources", "not_covered", "quality", "cost", "target"):
        assert inside[key] == doc[key], f"{key} differs between page and document"
    xp.check_schema(inside, "triage-result")
    samples = doc["summary"]["cpu_samples"]
    if samples:
        flame = data["processes"][0]["cpu"]
        assert flame["total"] == samples["observed"], (flame["total"], samples["observed"])
        nodes = flame["nodes"]
        assert sum(value for depth, value in zip(nodes[1::3], nodes[2::3]) if depth == 0) == samples["observed"]
    specs = json.loads(pathlib.Path(doc["evidence"]["artifact"]["path"]).read_text())["specs"]
    commands = [command for command in data["commands"] if command and " --spec " in command]
    assert [command.rsplit(" ", 1)[1] for command in commands] == [spec["path"] for spec in specs], (commands, specs)
    assert all(command.startswith(xp.XPROBE + " measure ") for command in commands), commands


def need_boxes(page):
    if page.eval(f"document.querySelectorAll('{BOX}').length") < 3:
        raise xp.Skip("no CPU samples here: " + (page.eval("(document.querySelector('#cpu .missing') || document.querySelector('#cpu')).textContent") or ""))


def test_it_renders_and_asks_for_nothing():
    path = hot_page()
    with browser.Browser() as page:
        open_page(page, path)
        titles = page.eval("[...document.querySelectorAll('h2')].map(e => e.textContent)")
        assert titles[:2] == ["What held it up", "Where the threads' time went"] and len(titles) >= 8, titles
        assert page.eval("document.querySelectorAll('.finding').length") == len(data_of(path)["document"]["findings"])
        assert page.eval("document.querySelectorAll('#sources tbody tr').length") == 8
        assert page.eval("document.querySelector('.paste code').textContent") == next(filter(None, data_of(path)["commands"]))
        assert page.eval("document.querySelector('.paste button').click() || 1") == 1
        assert page.eval("[...document.querySelectorAll('[id]')].length === new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"), "ids repeat"
        check_quiet(page, path)
        # What a hostile name could try is refused by the page's own policy.
        page.eval("(() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1'; document.body.append(s); })()")
        page.eval("fetch('https://example.invalid/').catch(() => 0)")
        assert page.eval("window.hit === undefined")
        assert len(page.problems) >= 2 and all("Content Security Policy" in problem for problem in page.problems), page.problems


def test_search_finds_the_hot_function():
    with browser.Browser() as page:
        open_page(page, hot_page())
        need_boxes(page)
        hot = page.eval("document.querySelector('#cpu td .link').textContent")
        page.click("#cpu input[type=search]")
        page.type(hot)
        assert page.eval(HOT_SHARE) > 50, page.eval("document.querySelector('#cpu .found').textContent")
        assert page.eval("[...document.querySelectorAll('#cpu .box.hit')].every(e => e.textContent.includes(%s))" % json.dumps(hot))
        assert page.eval("document.querySelectorAll('#cpu .box.hit').length") >= 1
        page.eval("document.querySelector('#cpu input').select()")
        page.type("no such function anywhere")
        assert page.eval("document.querySelector('#cpu .found').textContent") == "not found"
        page.key("Escape")
        assert page.eval("document.querySelector('#cpu .found').textContent") == ""
        check_quiet(page, hot_page())


def test_zoom_tooltip_and_keys():
    wide = "Math.round(document.querySelector('%s').getBoundingClientRect().width)"
    with browser.Browser() as page:
        open_page(page, hot_page())
        need_boxes(page)
        # The narrowest box that can be hit fills the width after a click, and its callers stay above it.
        target = page.eval("(() => { const all = [...document.querySelectorAll('%s')].filter(e => e.getBoundingClientRect().width > 8);"
                           "all.sort((a, b) => a.getBoundingClientRect().width - b.getBoundingClientRect().width); return all[0].dataset.node; })()" % BOX)
        box = f'{BOX}[data-node="{target}"]'
        page.eval(f"document.querySelector('{box}').scrollIntoView({{block: 'center'}})")
        page.hover(box)
        name = page.eval(f"document.querySelector('{box}').textContent")
        assert page.eval("document.querySelector('#cpu .tip').hidden") is False and name in page.eval("document.querySelector('#cpu .tip').textContent")
        assert page.eval("document.querySelector('#cpu .reset').disabled")
        page.click(box)
        full = page.eval(wide % "#cpu .boxes")
        assert abs(page.eval(wide % box) - full) <= 1 and abs(page.eval(wide % (BOX + '[data-node="0"]')) - full) <= 1
        page.click("#cpu .reset")
        assert page.eval("document.querySelector('#cpu .reset').disabled")
        # Keys: down to the heaviest callee, zoom, back.
        page.eval(f"document.querySelector('{BOX}').focus()")
        for _ in range(2):
            page.key("ArrowDown")
        at = page.eval("document.activeElement.dataset.node")
        assert page.eval("document.activeElement.getAttribute('aria-level')") == "3", at
        page.key("Enter")
        assert page.eval("document.activeElement.dataset.node") == at and not page.eval("document.querySelector('#cpu .reset').disabled")
        page.key("ArrowUp")
        assert page.eval("document.activeElement.getAttribute('aria-level')") == "2"
        page.key("Escape")
        assert page.eval("document.activeElement.dataset.node") == "0" and page.eval("document.querySelector('#cpu .reset').disabled")
        page.key("/")
        assert page.eval("document.activeElement.type") == "search"
        check_quiet(page, hot_page())


def lightness(page, of="body"):
    red, green, blue = map(int, re.findall(r"\d+", page.eval(f"getComputedStyle(document.querySelector('{of}')).backgroundColor"))[:3])
    return (red + green + blue) / 3


def test_themes_phone_and_print():
    with browser.Browser() as page:
        open_page(page, hot_page())
        page.media(prefers_color_scheme="dark")
        assert lightness(page) < 60
        page.media(prefers_color_scheme="light")
        assert lightness(page) > 200
        for expected in ("light", "dark"):
            page.click("#theme")
            assert page.eval("document.documentElement.dataset.theme") == expected
            assert (lightness(page) < 60) == (expected == "dark")
        page.size(360, 740, True)
        assert page.eval("document.documentElement.scrollWidth") <= 360, "wider than a phone"
        page.size(1200, 900)
        page.media(media="print")
        assert lightness(page) > 250 and page.eval("getComputedStyle(document.querySelector('#theme')).display") == "none"
        assert len(page.call("Page.printToPDF", printBackground=True)["data"]) > 10000


def test_cruel_names_stay_text():
    """A process whose thread is called like a script element."""
    shutil.copy(shutil.which("sleep"), pathlib.Path(xp.scratch()) / "a")
    code = f"import ctypes, time; ctypes.CDLL(None).prctl(15, b{CRUEL!r}, 0, 0, 0); print('ready', flush=True); time.sleep(60)"
    with xp.Target(shutil.which("python3"), "-c", code) as target:
        triage_page(target.pid, "cruel", "--name", CRUEL + "\"'&\u202e")
    assert CRUEL[:15] in data_of(page_of("cruel"))["processes"][0]["threads"][0]["name"]
    with browser.Browser() as page:
        open_page(page, page_of("cruel"))
        assert page.eval("document.querySelector('h1').textContent") == CRUEL + "\"'&\ufffd"
        assert page.eval("document.scripts.length") == 2
        assert CRUEL[:15] in page.eval("document.querySelector('#threads td').textContent")


def test_a_graph_has_a_page():
    program = str(xp.TARGETS / "graph")
    ends = {f"{name}-{side}": f"uprobe:{program}:{name}:{side}" for name in ("handle", "parse") for side in ("entry", "return")}
    xp.need_bpf()
    with xp.Target("graph", 41, 31, 7, 5) as target:
        spec = {"schema_version": "3.0", "name": "request_path", "target": target.identity(), "endpoints": ends, "samples": None, "duration_ms": 800,
                "timeout_ms": 20000, "max_events": 20000, "max_cost": 0,
                "edges": [{"name": name, "start": f"{name}-entry", "end": f"{name}-return", "match_policy": "stack_nested"} for name in ("handle", "parse")]}
        process = xp.start("measure", "--spec", xp.spec_file(spec), "--events-out", page_of("graph"), "--format", "html", "--json")
        xp.wait_armed(process, 0.2)
        target.tell("")
        doc = xp.finish(process).doc
    assert [edge["samples"]["matched"] for edge in doc["edges"]] == [41, 31], doc["edges"]
    assert doc["evidence"]["artifact"]["format"] == "jsonl" and len(xp.read_events(doc["evidence"]["artifact"]["path"])) == 2 * (41 + 31)
    check_file(page_of("graph"))
    assert data_of(page_of("graph"))["document"] == {**doc, "edges": data_of(page_of("graph"))["document"]["edges"]}
    with browser.Browser() as page:
        open_page(page, page_of("graph"))
        assert page.eval("document.querySelector('#edges tbody').textContent").count("handle") == 1
        assert page.eval("[...document.querySelector('#edges tbody').querySelectorAll('td:nth-child(3)')].map(e => e.textContent)") == ["41", "31"]


GPU = {"devices": [{
    "index": 0, "uuid": "GPU-5f1c", "name": "NVIDIA H200", "utilization": 0.43, "memory_used": 9 << 30, "memory_total": 141 << 30, "temperature_c": 51,
    "power_mw": 312000, "power_limit_mw": 700000, "sm_clock_mhz": 1755, "sm_clock_max_mhz": 1980, "clock_event_ns": {"sw_power_cap": 123000000, "gpu_idle": 0},
    "pcie_generation": 5, "pcie_generation_max": 5, "pcie_width": 16, "pcie_width_max": 16, "ecc_uncorrected": 0, "remap_pending": False, "mig": False,
    "process_memory": None}]}
KERNELS = {"kernels": 10007, "busy_share": 0.31, "groups": 2, "launches": 10007, "graph_launches": 3, "top": [
    {"name": "_Z4gemmILi4E" + "x" * 300, "function": None, "count": 10007, "total_ns": 312345678, "mean_ns": 31212.7, "device_id": 0}]}


def page_with(name, change):
    """The page of a real triage with other data in it, as sources and processes that this machine has not would give."""
    text = hot_page().read_text("utf-8")
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    data = json.loads(found[1])
    change(data)
    page_of(name).write_text(text[:found.start(1)] + json.dumps(data).replace("<", "\\u003c") + text[found.end(1):], "utf-8")
    return page_of(name)


def with_gpu(data):
    data["document"]["summary"].update(gpu=GPU, cuda_kernels=KERNELS)
    for source in data["document"]["sources"][5:]:
        source.update({"status": "unavailable", "reason": "timeout", "detail": "no answer in 2 s"} if source["name"] == "cuda_copies" else
                      {"status": "available", "reason": None, "detail": None})


def with_processes(data):
    doc, mine = data["document"], data["processes"][0]
    parts = {key: doc[key] for key in ("status", "sources", "summary", "findings", "cost")}
    doc["processes"] = [{"target": {"pid": pid}, "parent_pid": 1, "executable": "/opt/trainer", **json.loads(json.dumps(parts))} for pid in (101, 103, 107)]
    doc["odd_one_out"] = [{"metric": "on_cpu_share", "pid": 103, "value": 0.97, "median": 0.11, "spread": 0.02, "window_share": 0.86}]
    doc.update(processes_total=5, target=None, sources=None, summary=None, cost=None)
    data["processes"] = [{**mine, "pid": pid} for pid in (101, 103, 107)]
    for finding in doc["processes"][2]["findings"] + doc["findings"]:
        finding["pid"] = 107


def test_gpus_and_several_processes():
    with browser.Browser() as page:
        open_page(page, page_with("gpu", with_gpu))
        shown = page.eval("document.querySelector('#gpu').textContent")
        for text in ("NVIDIA H200", "312 W of 700 W", "sw power cap 123 ms", "gemm", "not available: timeout: no answer in 2 s", "10\u202f007"):
            assert text in shown, (text, shown)
        page.size(360, 740, True)
        assert page.eval("document.documentElement.scrollWidth") <= 360, "a long kernel name is wider than a phone"
        open_page(page, page_with("several", with_processes))
        assert page.eval("[...document.querySelectorAll('details.process')].map(e => [e.id, e.open])") == [["pid-101", True], ["pid-103", False], ["pid-107", False]]
        assert "103" in page.eval("document.querySelector('#odd').textContent") and "3 of 5" in page.eval("document.querySelector('#processes').textContent")
        assert page.eval("document.querySelectorAll('#pid-107-sources tbody tr').length") == 8
        assert page.eval("document.querySelectorAll('.flame').length") == 3 * page.eval("document.querySelectorAll('#pid-101 .flame').length")
        first = "document.querySelector('%s .paste code').textContent"
        assert page.eval(first % "#pid-107-findings") == page.eval(first % "#findings"), "a process' finding has its command"
        assert page.eval("[...document.querySelectorAll('[id]')].length === new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"), "ids repeat"


def test_a_tree_has_a_part_for_each_process():
    with xp.Target("load", "parent") as target:
        doc = triage_page(target.pid, "tree", "--tree")
        for row in doc["processes"]:
            if row["target"]["pid"] != target.pid:
                os.kill(row["target"]["pid"], 9)
    pids = [row["target"]["pid"] for row in doc["processes"]]
    assert len(pids) == 2 and [process["pid"] for process in data_of(page_of("tree"))["processes"]] == pids, pids
    with browser.Browser() as page:
        open_page(page, page_of("tree"))
        assert page.eval("[...document.querySelectorAll('details.process')].map(e => e.id)") == [f"pid-{pid}" for pid in pids]
        assert page.eval("document.querySelector('h1').textContent") == "2 processes"
        assert page.eval("document.querySelectorAll('.missing').length") > 0 and "could not be shown" not in page.eval("document.querySelector('#page').textContent")


def test_a_target_that_ends_still_has_its_page():
    path = page_of("gone")
    with xp.Target("load", "exit", 2000) as target:
        xp.run("measure", "--pid", target.pid, "--triage", "--duration-ms", 9000, "--events-out", path, "--json", code="TARGET_EXITED", exit=3)
    check_file(path)
    assert data_of(path)["document"]["status"] == "failed"


def test_what_cannot_be_written_is_refused_before_the_window():
    folder = pathlib.Path(xp.scratch())
    (folder / "directory").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "kept").write_text("kept")
    (folder / "link").symlink_to(folder / "kept")
    with xp.sleeper() as target:
        base = ("measure", "--pid", target.pid, "--triage", "--duration-ms", 30000, "--events-out")
        for path in (folder / "directory", folder / "fifo", folder / "absent" / "x.html", ""):
            result = xp.run(*base, path, "--json", code="TRACE_EXPORT_FAILED", exit=1)
            assert result.seconds < 10, result
        for name in ("folded", "speedscope", "jsonl", "chrome", "pprof"):
            xp.run(*base, folder / "x", "--format", name, "--json", code="INVALID_ARGUMENT", exit=2)
        xp.ok("measure", "--pid", target.pid, "--triage", "--duration-ms", 200, "--events-out", folder / "link", "--json")
    assert (folder / "kept").read_text() == "kept" and not (folder / "link").is_symlink(), "a link was followed"
    check_file(folder / "link")


def test_without_scripts_the_text_is_there():
    text = subprocess.run(["sed", "-n", "/<noscript>/,/<.noscript>/p", str(hot_page())], capture_output=True, check=True, text=True).stdout
    assert "triage     pid" in text and "verdict" in text and "<script" not in text, text


if __name__ == "__main__":
    xp.main()
