# SPDX-License-Identifier: Apache-2.0
"""What people and agents read is short, linked, and of this version: the skill's budgets, orphans, examples, and the version everywhere."""
import json
import re
import subprocess
import sys

import xp

SKILL = xp.SOURCE / "skills/xprobe-measure-latency"
PROSE = [path for path in SKILL.rglob("*") if path.is_file()]
BUDGET_ALL, BUDGET_SKILL = 3000, 1100


def words(path):
    return len(path.read_text("utf-8").split())


def links(path):
    """Files that a page links to, or names in back quotes relative to its folder or the skill's."""
    text = path.read_text("utf-8")
    for name in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text) + re.findall(r"(?:python3 )?((?:scripts|examples|references)/[\w.-]+)", text):
        for base in (path.parent, SKILL):
            if (base / name).exists():
                yield (base / name).resolve()
                break


def test_the_skill_keeps_its_budgets():
    total = sum(map(words, PROSE))
    assert words(SKILL / "SKILL.md") <= BUDGET_SKILL, words(SKILL / "SKILL.md")
    assert 500 <= total <= BUDGET_ALL, total
    print(f"SKILL.md {words(SKILL / 'SKILL.md')} words, the skill {total}")


def test_the_skill_opens_with_the_front_matter_that_agents_read():
    text = (SKILL / "SKILL.md").read_text("utf-8")
    head = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert head, "no front matter"
    fields = dict(re.findall(r"^(\w+): (.+)$", head[1], re.MULTILINE))
    assert fields["name"] == SKILL.name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"]) and len(fields["name"]) <= 64, fields["name"]
    assert 40 <= len(fields["description"]) <= 1024, len(fields["description"])


def test_no_file_of_the_skill_is_an_orphan():
    reached, waiting = set(), [(SKILL / "SKILL.md").resolve()]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        if page.suffix == ".md":
            waiting += links(page)
    assert {path.resolve() for path in PROSE} == reached, {path.name for path in PROSE if path.resolve() not in reached}


def test_no_page_of_docs_is_an_orphan():
    pages = set((xp.SOURCE / "docs").glob("*.md"))
    linked = {(path.parent / name).resolve() for path in [xp.SOURCE / "README.md", *pages]
              for name in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text("utf-8"))}
    assert pages <= linked, {path.name for path in pages - linked}


def test_every_example_is_a_valid_spec():
    examples = sorted((SKILL / "examples").glob("*.json"))
    assert len(examples) >= 4
    for path in examples:
        spec = xp.parse(path.read_text("utf-8"))
        xp.check_schema(spec)
        spec["target"] = {"pid": xp.unused_pid(), "process_start_time": 1}
        xp.fails("TARGET_NOT_FOUND", "validate", "--spec", xp.spec_file(spec))


def test_the_version_is_one_everywhere():
    version = xp.run("--version", text=True, exit=0).out.decode().split()[1]
    assert re.search(rf'^  version: "{re.escape(version)}"$', (SKILL / "SKILL.md").read_text("utf-8"), re.MULTILINE), "skill"
    for path in [xp.SOURCE / "README.md", *(xp.SOURCE / "docs").glob("*.md")]:
        for found in re.findall(r"xprobe[- ](?:v|version )?(\d+\.\d+\.\d+)", path.read_text("utf-8")):
            assert found == version, f"{path.name}: {found}"


def test_the_script_of_the_skill_reads_what_the_tool_writes():
    events = [json.dumps({"timestamp_ns": 1000 + 10 * i, "sequence": i, "event_type": "syscall_entry", "tid": 43, "host": {"symbol": "mmap"}}) for i in range(13)]
    path = xp.spec_file("\n".join(events) + "\n", "events.jsonl")
    script = [sys.executable, str(SKILL / "scripts/analyze_trace.py")]
    text = subprocess.run([*script, path], check=True, capture_output=True, text=True).stdout
    assert "13 events" in text and re.search(r"13 +syscall_entry +mmap", text), text
    text = subprocess.run([*script, path, "--around", "1050", "--lines", "3"], check=True, capture_output=True, text=True).stdout
    assert len(text.splitlines()) == 3 and "+0 ns" in text, text
    bad = subprocess.run([*script, xp.spec_file("{}\n", "bad.jsonl")], capture_output=True, text=True, check=False)
    assert bad.returncode == 1 and "bad.jsonl:1" in bad.stderr, bad


if __name__ == "__main__":
    xp.main()
