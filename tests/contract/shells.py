# SPDX-License-Identifier: Apache-2.0
"""Completions and the manual page work where their shells are installed, and offer what the tables hold."""
import re
import subprocess

import xp

PLACE = xp.SOURCE / "packaging"
BASH = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _xprobe; printf '%s\\n' "${COMPREPLY[@]}" """


def bash(*words):
    done = subprocess.run(["bash", "-c", BASH, "bash", PLACE / "completions/xprobe.bash", *words], capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_bash_completes_commands_flags_and_values():
    words = bash("xprobe", "")
    assert words == sorted(words[:-2]) + ["--help", "--version"] and {"doctor", "measure", "validate"} < set(words), words
    assert bash("xprobe", "do") == ["doctor"]
    assert bash("xprobe", "measure", "--tri") == ["--triage"]
    assert bash("xprobe", "measure", "--match", "stack") == ["stack-nested"]
    assert "jsonl" in bash("xprobe", "measure", "--format", "")
    assert "1" in bash("xprobe", "measure", "--pid", "1")
    assert bash("xprobe", "doctor", "--tri") == []


def test_bash_offers_every_flag_of_every_command():
    for command in bash("xprobe", ""):
        if command.startswith("--"):
            continue
        shown = set(re.findall(r"^  (--[\w-]+)", xp.run(command, "--help", text=True).out.decode(), re.MULTILINE))
        assert set(bash("xprobe", command, "--")) == shown, command


def test_zsh_reads_its_file():
    subprocess.run([xp.need_command("zsh"), "-n", PLACE / "completions/_xprobe"], check=True)


def test_fish_completes():
    script = f"source {PLACE}/completions/xprobe.fish; complete -C 'xprobe measure --tri'"
    done = subprocess.run([xp.need_command("fish"), "--no-config", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("--triage"), done


def test_the_manual_page_is_clean():
    lint = subprocess.run([xp.need_command("mandoc"), "-T", "lint", "-W", "warning", PLACE / "xprobe.1"], capture_output=True, text=True, check=False)
    assert not [line for line in lint.stdout.splitlines() if not re.search("missing date|no such file", line)], lint.stdout


if __name__ == "__main__":
    xp.main()
