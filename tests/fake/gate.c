/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kills or hangs programs on CUPTI before 13.0 U1, played as an end with a message: a launching or loading call that is under way
 * while the kernel kind is switched off, and a switch-off after a context came or went.
 */
#include "cupti.h"

#include <unistd.h>

enum { FIRST_SAFE = 130001, FIRST_NULL_SAFE = 27, CB_MODULE_LOAD = 19, CB_CONTEXT_CREATE = 645 };

static int inside, switching_off, contexts;

static int is_old(void)
{
	return fake_cupti_get("version") < FIRST_SAFE;
}

static int endangers(uint32_t domain, uint32_t cbid)
{
	return domain == 1 && (cbid == 307 || cbid == 514 || cbid == CB_MODULE_LOAD || cbid == CB_CONTEXT_CREATE);
}

void fake_gate_enter(uint32_t domain, uint32_t cbid)
{
	if (!endangers(domain, cbid))
		return;
	__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
	if (cbid == CB_CONTEXT_CREATE)
		__atomic_store_n(&contexts, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&switching_off, __ATOMIC_SEQ_CST) && is_old())
		fake_die("a launching or loading call began while a kind was being switched off: deadlock");
}

void fake_gate_leave(uint32_t domain, uint32_t cbid)
{
	if (endangers(domain, cbid))
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

void fake_gate_switched_on(void)
{
	__atomic_store_n(&contexts, 0, __ATOMIC_SEQ_CST);
}

void fake_gate_switch_off(void)
{
	if (!is_old())
		return;
	__atomic_store_n(&switching_off, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&inside, __ATOMIC_SEQ_CST))
		fake_die("a kind was switched off under a launching or loading call: deadlock");
	if (__atomic_load_n(&contexts, __ATOMIC_SEQ_CST))
		fake_die("a kind was switched off after a context came or went: crash");
	usleep((unsigned)fake_cupti_get("disable_ms") * 1000);
	__atomic_store_n(&switching_off, 0, __ATOMIC_SEQ_CST);
}

void fake_gate_no_buffer(void)
{
	if (fake_cupti_get("version") < FIRST_NULL_SAFE)
		fake_die("no buffer was given, which may crash before 12.9");
}
