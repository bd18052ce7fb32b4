# SPDX-License-Identifier: Apache-2.0
"""Says that it runs, on any Python, and sleeps."""
import sys
import time

sys.stdout.write("READY\n")
sys.stdout.flush()
time.sleep(10000)
