#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares every line of agent/cupti_abi.h with real CUPTI headers, by a compiler: ids, and offsets of record prefixes.

Headers of CUDA 13: the toolkit's. Of CUDA 12: those of the package nvidia-cuda-cupti-cu12, where it is unpacked in XPROBE_CUPTI12_INCLUDE, in
third_party/cupti12/include, or in a site-packages folder. None of them: skipped.
"""
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("XP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))

# Ours, then the real name. Records: struct, real type, {our member: real member}.
IDS = {
    "CUPTI_OK": "CUPTI_SUCCESS", "CUPTI_MAX_LIMIT_REACHED": "CUPTI_ERROR_MAX_LIMIT_REACHED", "CUPTI_NOT_INITIALIZED": "CUPTI_ERROR_NOT_INITIALIZED",
    "CUPTI_MULTIPLE_SUBSCRIBERS": "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "CUDA_NOT_INITIALIZED": "CUDA_ERROR_NOT_INITIALIZED",
    "CUPTI_KIND_MEMCPY": "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_KIND_MEMSET": "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_KIND_CONCURRENT_KERNEL": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_KIND_MEMCPY2": "CUPTI_ACTIVITY_KIND_MEMCPY2",
    "CUPTI_DOMAIN_DRIVER": "CUPTI_CB_DOMAIN_DRIVER_API", "CUPTI_DOMAIN_RUNTIME": "CUPTI_CB_DOMAIN_RUNTIME_API",
    "CUPTI_SITE_ENTER": "CUPTI_API_ENTER", "CUPTI_SITE_EXIT": "CUPTI_API_EXIT", "CUPTI_FLUSH_FORCED": "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED",
    "CUPTI_CB_LAUNCH_KERNEL": "CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel", "CUPTI_CB_LAUNCH_KERNEL_PTSZ": "CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz",
    "CUPTI_CB_LAUNCH_COOPERATIVE": "CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel",
    "CUPTI_CB_LAUNCH_COOPERATIVE_PTSZ": "CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz",
    "CUPTI_CB_GRAPH_LAUNCH": "CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch", "CUPTI_CB_GRAPH_LAUNCH_PTSZ": "CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz",
    "CUPTI_CB_LAUNCH_KERNEL_EX": "CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx",
    "CUPTI_CB_LAUNCH_KERNEL_EX_PTSZ": "CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz",
}
# The runtime launches that agent/want.c lists by number; the last two came with 13.0.
RUNTIME = {13: "cudaLaunch_v3020", 211: "cudaLaunchKernel_v7000", 213: "cudaLaunch_ptsz_v7000", 214: "cudaLaunchKernel_ptsz_v7000",
           269: "cudaLaunchCooperativeKernel_v9000", 270: "cudaLaunchCooperativeKernel_ptsz_v9000", 311: "cudaGraphLaunch_v10000",
           312: "cudaGraphLaunch_ptsz_v10000", 430: "cudaLaunchKernelExC_v11060", 431: "cudaLaunchKernelExC_ptsz_v11060"}
RUNTIME_13 = {505: "__cudaLaunchKernel_v13000", 506: "__cudaLaunchKernel_ptsz_v13000"}
COMMON = {"start": "start", "end": "end", "correlation": "correlationId", "device": "deviceId", "context": "contextId", "stream": "streamId",
          "graph_node": "graphNodeId", "graph": "graphId", "kind": "kind"}
RECORDS = [
    ("cupti_kernel", ["CUpti_ActivityKernel9", "CUpti_ActivityKernel10"],
     {**COMMON, "grid": "gridX", "block": "blockX", "grid_id": "gridId", "name": "name"}),
    ("cupti_memcpy", ["CUpti_ActivityMemcpy5", "CUpti_ActivityMemcpy6"],
     {**COMMON, "copy_kind": "copyKind", "src_kind": "srcKind", "dst_kind": "dstKind", "flags": "flags", "bytes": "bytes",
      "runtime_correlation": "runtimeCorrelationId"}),
    ("cupti_memcpy2", ["CUpti_ActivityMemcpyPtoP4"],
     {**COMMON, "copy_kind": "copyKind", "src_kind": "srcKind", "dst_kind": "dstKind", "flags": "flags", "bytes": "bytes"}),
    ("cupti_memset", ["CUpti_ActivityMemset4"], {**COMMON, "value": "value", "bytes": "bytes", "flags": "flags", "memory_kind": "memoryKind"}),
    ("cupti_callback_data", ["CUpti_CallbackData"],
     {"site": "callbackSite", "function_name": "functionName", "params": "functionParams", "result": "functionReturnValue", "symbol_name": "symbolName",
      "context": "context", "context_uid": "contextUid", "correlation_data": "correlationData", "correlation_id": "correlationId"}),
]


def has(include, name):
    return any(name in path.read_text("utf-8", "replace") for path in pathlib.Path(include).glob("cupti*.h"))


def program(include, major):
    lines = ["#include <stddef.h>", "#include <cupti.h>", "#define CUPTI_OK OURS_OK", '#include "agent/cupti_calls.h"']
    check = lambda test, text: lines.append(f'_Static_assert({test}, "{text}");')
    for ours, real in IDS.items():
        check(f"(int)OURS_OK == (int)CUPTI_SUCCESS" if ours == "CUPTI_OK" else f"(int){ours} == (int){real}", ours)
    for number, name in {**RUNTIME, **(RUNTIME_13 if major >= 13 else {})}.items():
        check(f"{number} == CUPTI_RUNTIME_TRACE_CBID_{name}", name)
    compared = 0
    for ours, reals, members in RECORDS:
        for real in reals:
            if not has(include, real):
                continue
            for mine, theirs in members.items():
                check(f"offsetof(struct {ours}, {mine}) == offsetof({real}, {theirs})", f"{real}.{theirs}")
                check(f"sizeof(((struct {ours} *)0)->{mine}) % sizeof((({real} *)0)->{theirs}) == 0", f"size of {real}.{theirs}")
                compared += 1
    if has(include, "CUpti_ActivityMemcpy6"):
        check("offsetof(struct cupti_memcpy, copies) == offsetof(CUpti_ActivityMemcpy6, copyCount)", "copyCount")
    if has(include, "cuptiSubscribe_v2"):
        for mine, theirs in {"size": "structSize", "name": "subscriberName", "old_name": "oldSubscriberName", "old_name_size": "oldSubscriberSize"}.items():
            check(f"offsetof(struct cupti_subscriber_params, {mine}) == offsetof(CUpti_SubscriberParams, {theirs})", theirs)
    return "\n".join(lines) + "\n", compared


def compile_against(include, cuda):
    major = 13 if has(include, "CUpti_ActivityKernel10") else 12
    text, compared = program(include, major)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "check.c")
        source.write_text(text)
        run = subprocess.run(["gcc", "-std=gnu17", "-fsyntax-only", "-I", include, "-I", str(ROOT), "-I", cuda, source], capture_output=True, text=True)
    if run.returncode:
        print(run.stderr)
        print(f"FAILED: agent/cupti_abi.h against {include}")
    else:
        print(f"{include}: CUPTI {major}, {compared} fields, {len(IDS) + len(RUNTIME)} ids agree")
    return run.returncode == 0


def places():
    toolkits = sorted(glob.glob("/usr/local/cuda*/include") + glob.glob("/usr/local/cuda*/extras/CUPTI/include"))
    wheels = [os.environ.get("XPROBE_CUPTI12_INCLUDE", ""), str(ROOT / "third_party/cupti12/include"), str(ROOT / ".cache/cupti12/nvidia/cuda_cupti/include")]
    wheels += [path for base in sys.path + glob.glob("/usr/lib/python3*/*-packages") for path in glob.glob(f"{base}/nvidia/c*/include")]
    found = {}
    for place in toolkits + wheels:
        header = pathlib.Path(place, "cupti_activity.h")
        if place and header.exists():
            found.setdefault(header.resolve(), place)
    return list(found.values())


def main():
    cuda = next((path for path in sorted(glob.glob("/usr/local/cuda*/include"), reverse=True) if pathlib.Path(path, "cuda.h").exists()), None)
    includes = places()
    if not cuda or not includes:
        print("SKIP: no CUPTI headers here (a CUDA 13 toolkit, or `make setup` for those of CUDA 12)")
        return 77
    return 0 if all([compile_against(include, cuda) for include in includes]) else 1


if __name__ == "__main__":
    sys.exit(main())
