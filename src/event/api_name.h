/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA API names: the folding of contract 8.4, the same for selectors, live events and files. */
#ifndef XP_EVENT_API_NAME_H
#define XP_EVENT_API_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum xp_api_domain { XP_API_NONE, XP_API_DRIVER, XP_API_RUNTIME, XP_API_DOMAIN_COUNT }; /* numbers of cuda.callback_domain */
extern const char *const xp_api_domain_names[XP_API_DOMAIN_COUNT];			/* NULL, driver_api, runtime_api */

/*
 * Leading "__" and the endings _v<digits>, _ptsz, _ptds (in any order, repeatedly) are taken off. *ret_len bytes at the returned
 * address, which lies inside `name`, are the folded name.
 */
const char *xp_api_fold(const char *name, size_t *ret_len);
/* Folded names: does this API launch a graph? */
bool xp_api_launches_graph(const char *folded, size_t len);

#endif
