# SPDX-License-Identifier: Apache-2.0
"""Slow because it imports its plug-ins anew for every request."""
import importlib
import sys

PLUGINS = ["decimal", "fractions", "html.parser", "email.message", "xml.dom.minidom", "csv", "calendar", "optparse"]


def load_plugins():
    for name in PLUGINS:
        for known in [known for known in sys.modules if known == name or known.split(".")[0] in ("email", "html", "xml")]:
            del sys.modules[known]
        importlib.import_module(name)


print("ready", flush=True)
while True:
    load_plugins()
