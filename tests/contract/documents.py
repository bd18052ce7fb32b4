# SPDX-License-Identifier: Apache-2.0
"""docs/contract.md and the other pages say what the tool does: examples, flags, codes, command lines."""
import re
import shlex

import xp

CONTRACT = (xp.SOURCE / "docs/contract.md").read_text("utf-8")
PAGES = [path for path in (xp.SOURCE / "README.md", xp.SOURCE / "CONTRIBUTING.md", *sorted((xp.SOURCE / "docs").glob("*.md")),
                          *sorted((xp.SOURCE / "skills").rglob("*.md"))) if path.exists()]
COMMANDS = ("doctor", "mcp", "measure", "validate")


def section(number):
    """Text of one numbered section, sub-sections included."""
    found = re.search(rf"^(#+) {re.escape(number)}\.? .*?(?=^#{{2,3}} (?!{re.escape(number)}\.)|\Z)", CONTRACT, re.MULTILINE | re.DOTALL)
    assert found, f"the contract has no section {number}"
    return found[0]


def table_codes(text, pattern):
    """Names in back quotes in the first column of every table row."""
    return {name for row in re.findall(r"^\|([^|]*)\|", text, re.MULTILINE) for name in re.findall(rf"`({pattern})`", row)}


def sources():
    return [path.read_text("utf-8") for path in (xp.SOURCE / "src").rglob("*.[ch]")]


def used(call, argument):
    """String literals given as that argument of a call in src/."""
    pattern = re.compile(rf"\b{call}\((?:[^,()]|\([^()]*\))*" + r",(?:[^,()]|\([^()]*\))*" * (argument - 1) + r',\s*"(\w+)"')
    return {name for text in sources() for name in pattern.findall(text)}


def help_of(command):
    return xp.run(command, "--help", text=True, exit=0).out.decode("utf-8")


def flags_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def test_examples_parse_and_fit_their_schemas():
    checked = 0
    for block, after in re.findall(r"^```json\n(.*?)^```\n(.{0,40})", CONTRACT, re.MULTILINE | re.DOTALL):
        doc = xp.parse(block)
        kind = xp.kind_of(doc)
        assert kind, f"no kind for {block[:200]}"
        if after.startswith("(shortened") or not (xp.SCHEMAS / f"{kind}.schema.json").exists():
            continue
        xp.check_schema(doc)
        checked += 1
    assert checked >= 1, "not one example has a schema"


def test_error_codes_are_those_of_1_5():
    documented = table_codes(section("1.5"), "[A-Z_]+")
    listed = set(re.findall(r"^XP_ERR\((\w+)\)", (xp.SOURCE / "src/base/err_list.def").read_text(), re.MULTILINE))
    assert listed == documented, f"only in the code: {listed - documented}; only in the contract: {documented - listed}"


def test_exit_status_of_every_code_is_that_of_1_5():
    documented = dict(re.findall(r"^\| `([A-Z_]+)`[^|]*\| (\d) \|", section("1.5"), re.MULTILINE))
    told = dict(re.findall(r"^\| `([A-Z_]+)` \| (\d) \|", (xp.SOURCE / "docs/errors.md").read_text(), re.MULTILINE))
    assert told == documented, {code: (told.get(code), exit) for code, exit in documented.items() if told.get(code) != exit}
    assert {code: int(exit) for code, exit in documented.items() if exit != "1"} == xp.EXITS


def test_every_error_code_has_a_user_or_waits_for_a_gpu():
    waiting = {"CUDA_CONTEXT_NOT_FOUND", "COLLECTION_DEAD", "CUPTI_BUSY", "UNSUPPORTED_CUDA_VERSION", "UNSUPPORTED_TARGET", "CUPTI_AGENT_NOT_LOADED",
               "CUPTI_NOT_AVAILABLE", "TARGET_BUSY"}
    text = "\n".join(sources())
    unused = {code for code in table_codes(section("1.5"), "[A-Z_]+") if len(re.findall(rf"\bXP_E_{code}\b", text)) < 2}
    assert unused <= waiting, f"documented, but nothing in src/ can answer it: {unused - waiting}"


def test_warning_codes_are_in_1_6():
    found = used("xp_warn", 1)
    assert found <= table_codes(section("1.6"), "[A-Z_]+"), found - table_codes(section("1.6"), "[A-Z_]+")


def test_quality_issue_codes_are_in_13():
    found = used("xp_issue_add", 1)
    assert found <= table_codes(section("13"), "[a-z_]+"), found - table_codes(section("13"), "[a-z_]+")


def test_finding_codes_are_in_14_1():
    found = {name for path in (xp.SOURCE / "src/triage").glob("*.c") for name in re.findall(r'\.code = "(\w+)"', path.read_text("utf-8"))}
    known = table_codes(section("14.1"), "[a-z_]+") | set(re.findall(r"`(\w+)`", section("14.1")))
    assert found <= known, found - known


def test_every_documented_flag_is_in_the_help_of_its_command_and_no_other():
    documented = {
        "measure": flags_in("\n".join(re.findall(r"^\|([^|]*)\|", section("6.2"), re.MULTILINE))),
        "validate": flags_in(section("5")),
        "doctor": set(),
        "mcp": set(),
    }
    common = flags_in("\n".join(re.findall(r"^\|([^|]*)\|", section("2"), re.MULTILINE)))
    for command, flags in documented.items():
        shown = flags_in("\n".join(line[:30] for line in help_of(command).splitlines() if line.startswith("  --")))
        assert flags | common == shown, f"{command}: not shown {(flags | common) - shown}, not documented {shown - flags - common}"


def test_help_names_every_public_command_and_hides_the_others():
    text = xp.run("--help", text=True, exit=0).out.decode()
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", text, re.MULTILINE), f"{command} is not in --help"
    for command in ("inspect", "resolve", "trace", "export", "capture", "dev"):
        assert not re.search(rf"^  {command} ", text, re.MULTILINE), f"{command} is in --help"


def test_version():
    out = xp.run("--version", text=True, exit=0).out.decode()
    assert re.fullmatch(r"xprobe \d+\.\d+\.\d+\n", out), out
    assert out == xp.run("doctor", "-V", text=True, exit=0).out.decode()
    assert f"VERSION {out.split()[1]} " in (xp.SOURCE / "CMakeLists.txt").read_text()


def command_lines():
    """Every `xprobe ...` in a code span or code block of the pages, without what follows a pipe or comment."""
    for path in PAGES:
        text = path.read_text("utf-8")
        spans = re.findall(r"(?<!`)`((?:sudo )?(?:build/)?xprobe [^`\n]+)`(?!`)", text)
        for block in re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            spans += [line.strip() for line in block.replace("\\\n", " ").splitlines() if re.match(r"\s*(\$ )?(sudo )?(build/)?xprobe ", line)]
        for line in spans:
            yield path.name, re.split(r"\s[|#>]|;", re.sub(r"^\$ ", "", line))[0]


def test_command_lines_in_the_pages_use_only_flags_that_help_lists():
    helps, seen = {}, 0
    for page, line in command_lines():
        words = [word for word in shlex.split(line.replace("…", "").replace("'", "")) if word != "sudo"][1:]
        if not words or words[0] not in COMMANDS:
            continue
        shown = helps.setdefault(words[0], flags_in(help_of(words[0])))
        wrong = {word.split("=")[0] for word in words if word.startswith("--")} - shown
        assert not wrong, f"{page}: {line}: {wrong}"
        seen += 1
    assert seen >= 5, f"only {seen} command lines found"


def test_links_between_pages_resolve():
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text("utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target} is not there"


if __name__ == "__main__":
    xp.main()
