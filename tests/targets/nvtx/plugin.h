/* SPDX-License-Identifier: Apache-2.0 */
/* What app.c finds in each plugin under the name "plugin". */
#ifndef XP_TESTS_NVTX_PLUGIN_H
#define XP_TESTS_NVTX_PLUGIN_H

#include <stdint.h>

struct plugin {
	uint64_t (*hash)(void); /* of the copy's globals, byte for byte */
	uint64_t (*state)(void);
	int (*push)(const char *text);
	int (*pop)(void);
	void (*mark)(const char *text);
	void (*take)(void);	 /* as another tool */
	unsigned (*taken)(void); /* pushes that it has seen */
};
extern const struct plugin plugin;

#endif
