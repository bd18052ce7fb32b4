# SPDX-License-Identifier: Apache-2.0
"""The program with the fake CUDA (tests/fake/app.c) as a context manager, also behind commands that put it into another place."""
import xp
from asked import Asked, pair

FAKE = xp.BUILD / "tests" / "fake"


class App(Asked):
    """version: what its libcupti says of itself. library: mapped first, by path. cupti: its path, "" none."""

    window_s = 1.7

    def __init__(self, major=13, version=None, program=None, cupti=None, library=None, end_s=20, **options):
        super().__init__([program or FAKE / f"app{major}"], end_s=end_s, **options)
        self.version, self.library = version, library
        self.cupti = cupti if cupti is not None else f"{FAKE}/{major}/libcupti.so.{major}"

    def begin(self):
        if self.library:
            assert self.tell(f"cupti {self.library}") == 0
        assert not self.cupti or self.tell(f"cupti {self.cupti}") == 0, "libcupti was not mapped"
        if self.version:
            self.tell(f"set version {self.version}")


KERNELS = pair("cuda:kernel_start", "cuda:kernel_end")
LAUNCHES = pair("cuda:driver_api:cuLaunchKernel:entry", "cuda:kernel_start")


def warnings(doc):
    return {warning["code"]: warning["details"] for warning in doc["warnings"]}


def issues(doc):
    return {issue["code"] for issue in doc["quality"]["issues"]}
