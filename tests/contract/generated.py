# SPDX-License-Identifier: Apache-2.0
"""Schemas and reference pages in the tree are what the field tables of this build say."""
import re
import sys

import xp

sys.path.insert(0, str(xp.SOURCE / "tests"))
import generate  # noqa: E402


def test_schemas_and_pages_equal_the_tables():
    assert not generate.differing(), f"run `make generate`: {[path.name for path in generate.differing()]}"


def test_every_schema_is_a_schema():
    for path in xp.SCHEMAS.glob("*.schema.json"):
        xp.validator(path.name.removesuffix(".schema.json"))


def test_every_schema_is_one_of_the_contract():
    known = set(re.findall(r"`([a-z-]+)`", re.search(r"ship in `schemas/`:(.*?)each `<name>", contract(), re.DOTALL)[1]))
    assert {path.name.removesuffix(".schema.json") for path in xp.SCHEMAS.glob("*")} <= known


def contract():
    return (xp.SOURCE / "docs/contract.md").read_text("utf-8")


if __name__ == "__main__":
    xp.main()
