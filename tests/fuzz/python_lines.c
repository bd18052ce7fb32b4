/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a line table of each format: byte 0 the format, 1-4 the first line, 5-6 the offset. A line is an int of CPython or none. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#include "elf/python_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t first_line, line = 0, again = 0; /* untouched by a failure */
	int16_t offset;

	if (size < 7)
		return 0;
	memcpy(&first_line, data + 1, sizeof(first_line));
	memcpy(&offset, data + 5, sizeof(offset));
	enum xp_python_lines format = (enum xp_python_lines)(data[0] % 3);
	bool known = xp_python_line(format, data + 7, size - 7, first_line, offset, &line);
	if (known && line > INT32_MAX)
		abort();
	/* half a pair at the end tells nothing */
	if (format != XP_PYTHON_LOCATIONS && !(size % 2) &&
	    (xp_python_line(format, data + 7, size - 8, first_line, offset, &again) != known || again != line))
		abort();
	return 0;
}
