/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one description of CUPTI's records that both majors' libraries are made from: byte offsets as measured with a compiler over the real
 * headers, and sizes by major. Written apart from agent/cupti_abi.h on purpose: one checks the other.
 */
#ifndef XP_FAKE_LAYOUT_H
#define XP_FAKE_LAYOUT_H

#if FAKE_MAJOR == 12
enum { KERNEL_BYTES = 208, MEMCPY_BYTES = 88 };
#else
enum { KERNEL_BYTES = 216, MEMCPY_BYTES = 96 };
#endif
enum { MEMSET_BYTES = 88 };

enum { KIND_MEMCPY = 1, KIND_MEMSET = 2, KIND_CONCURRENT_KERNEL = 10, KIND_GRAPH_TRACE = 51 };

/* X(record, field, offset, type), one a line. */
/* clang-format off */
#define FAKE_FIELDS(X) \
	X(kernel, start, 16, uint64_t) \
	X(kernel, end, 24, uint64_t) \
	X(kernel, device, 40, uint32_t) \
	X(kernel, context, 44, uint32_t) \
	X(kernel, stream, 48, uint32_t) \
	X(kernel, grid_x, 52, uint32_t) \
	X(kernel, grid_y, 56, uint32_t) \
	X(kernel, grid_z, 60, uint32_t) \
	X(kernel, block_x, 64, uint32_t) \
	X(kernel, block_y, 68, uint32_t) \
	X(kernel, block_z, 72, uint32_t) \
	X(kernel, correlation, 92, uint32_t) \
	X(kernel, name, 104, const char *) \
	X(kernel, node, 144, uint64_t) \
	X(kernel, graph, 156, uint32_t) \
	X(memcpy, copy_kind, 4, uint8_t) \
	X(memcpy, src, 5, uint8_t) \
	X(memcpy, dst, 6, uint8_t) \
	X(memcpy, bytes, 8, uint64_t) \
	X(memcpy, start, 16, uint64_t) \
	X(memcpy, end, 24, uint64_t) \
	X(memcpy, device, 32, uint32_t) \
	X(memcpy, context, 36, uint32_t) \
	X(memcpy, stream, 40, uint32_t) \
	X(memcpy, correlation, 44, uint32_t) \
	X(memcpy, node, 64, uint64_t) \
	X(memcpy, graph, 72, uint32_t) \
	X(memset, value, 4, uint32_t) \
	X(memset, bytes, 8, uint64_t) \
	X(memset, start, 16, uint64_t) \
	X(memset, end, 24, uint64_t) \
	X(memset, device, 32, uint32_t) \
	X(memset, context, 36, uint32_t) \
	X(memset, stream, 40, uint32_t) \
	X(memset, correlation, 44, uint32_t) \
	X(memset, memory, 50, uint16_t) \
	X(memset, node, 64, uint64_t) \
	X(memset, graph, 72, uint32_t)
/* clang-format on */

#define FAKE_SETTER(record, field, offset, type)                                                      \
	static inline __attribute__((unused)) void put_##record##_##field(uint8_t *bytes, type value) \
	{                                                                                             \
		memcpy(bytes + (offset), &value, sizeof(value));                                      \
	}
FAKE_FIELDS(FAKE_SETTER)

#endif
