# SPDX-License-Identifier: Apache-2.0
"""The tool's side of the agent's memory file (wire/agent.h), for tests that arm and stop faster than a command can be started."""
import ctypes
import mmap
import os
import platform
import struct
import time

ARM, STOP = 1, 2
EXACT, AGGREGATE = 1, 2
API_ENTRY, KERNEL_START, MEMCPY_START, MEMSET_START = 1, 3, 5, 7
MATCH_ANY, MATCH_LAUNCH = 0, 5
WORD, LEASE, REQUEST, COUNTERS = 128, 256, 384, 2592
COUNTER_NAMES = ("callbacks api_launches graph_launches first_launch_ns callback_records callback_dropped activities_seen activity_records "
                 "activity_dropped activities_grouped activities_ungrouped filtered outside invalid_times in_flight cupti_dropped buffers_refused "
                 "names_dropped unknown_records late_exits graph_predates launch_unknown stray duplicate_ids worst_violation_ns bracket_ns "
                 "clock_steps stall_ns contexts stop_ns buffer_bytes armed_ns gate_ns left_on").split()
FUTEX, WAKE = 202, 1
assert platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)


class Agent:
    """The agent that is in that process already."""

    def __init__(self, pid):
        for number in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{number}"
            if os.readlink(path).startswith("/memfd:xprobe-agent-5"):
                fd = os.open(path, os.O_RDWR)
                self.memory = mmap.mmap(fd, 64 << 10)
                os.close(fd)
                break
        else:
            raise AssertionError("no agent there")
        assert self.memory[:6] == b"XPCTRL"
        self.sequence = self._u32(WORD)
        self._put_u64(LEASE, 0x7465737473)
        self.renew()

    def _u32(self, at):
        return struct.unpack_from("<I", self.memory, at)[0]

    def _u64(self, at):
        return struct.unpack_from("<Q", self.memory, at)[0]

    def _put_u64(self, at, value):
        struct.pack_into("<Q", self.memory, at, value)

    def renew(self):
        self._put_u64(LEASE + 16, time.monotonic_ns())
        self._put_u64(LEASE + 8, self._u64(LEASE + 8) + 1)

    def _command(self, command, limit_s):
        struct.pack_into("<I", self.memory, WORD + 4, command)
        self.sequence = (self.sequence + 1) & 0xffffffff or 1
        struct.pack_into("<I", self.memory, WORD, self.sequence)
        address = ctypes.addressof(ctypes.c_uint32.from_buffer(self.memory, WORD))
        libc.syscall(FUTEX, ctypes.c_void_p(address), WAKE, 2**31 - 1, None, None, 0)
        deadline = time.monotonic() + limit_s
        while self._u32(WORD + 12) != self.sequence:
            assert time.monotonic() < deadline, f"command {command} is not answered after {limit_s} s"
            self.renew()
            time.sleep(0.0005)
        return self._u32(WORD + 16)

    def arm(self, filters, mode=AGGREGATE, capacity=4096):
        """filters: (kind, match). -> status, 0 is armed; the window is open from then on."""
        struct.pack_into("<4IQ2I", self.memory, REQUEST, mode, 0, len(filters), capacity, 3600 * 10**9, 2000, 0)
        for i, (kind, match) in enumerate(filters):
            struct.pack_into("<4I", self.memory, REQUEST + 32 + 144 * i, kind, 0, 0, match)
            self.memory[REQUEST + 48 + 144 * i:REQUEST + 176 + 144 * i] = bytes(128)
        self._put_u64(LEASE + 24, 0)
        self._put_u64(LEASE + 32, 0)
        status = self._command(ARM, 20)
        self._put_u64(LEASE + 24, time.monotonic_ns())
        return status

    def stop(self, limit_s=30):
        """-> counters by name."""
        self._put_u64(LEASE + 32, time.monotonic_ns())
        assert self._command(STOP, limit_s) == 0
        return dict(zip(COUNTER_NAMES, struct.unpack_from(f"<{len(COUNTER_NAMES)}Q", self.memory, COUNTERS)))

    def version(self):
        return self._u32(24)
