/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of the tool say about themselves: schemas, reference pages, lists. Each is one JSON document. */
#ifndef XP_CMD_REFERENCE_H
#define XP_CMD_REFERENCE_H

#include "base/json.h"

/* {NAME: JSON Schema}; written to schemas/NAME.schema.json. */
void xp_reference_schemas(struct xp_json *json);
/* {PATH: text}: reference pages, completions, manual page. */
void xp_reference_files(struct xp_json *json);
/* {LIST: [name]}: what each *_list.def of the extension surface holds. */
void xp_reference_lists(struct xp_json *json);

#endif
