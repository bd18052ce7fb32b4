/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a target are read through mappings; one that is cut short meanwhile must not end us by SIGBUS (contract 1.3). */
#ifndef XP_BASE_LOST_PAGE_H
#define XP_BASE_LOST_PAGE_H

/*
 * From now on, for the whole process, a page of a mapped file that has gone reads as zeros. Every reader of such a mapping takes the
 * file for hostile already, so that zeros lead to "not found" or "damaged", never to a wrong address.
 */
void xp_lost_pages_read_as_zero(void);

#endif
