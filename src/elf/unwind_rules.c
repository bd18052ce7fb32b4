/* SPDX-License-Identifier: Apache-2.0 */
/* Address -> unwind rule. In: the target's maps and files. Out: rules. State: a direct-mapped cache of fixed size, emptied with the maps.
 */
#include "elf/unwind_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Old snapshots of the maps stay in the target's memory, so their number is bounded; the further apart the less they helped. */
enum { CACHE_SLOTS = 8192, REFRESHES_MAX = 32, PATIENCE_MAX = 4096 };

struct slot {
	uint64_t address; /* 0: empty */
	struct xp_rule rule;
};

struct xp_rules {
	struct xp_target *target;
	struct xp_modules *modules;
	struct slot *slots;
	struct xp_rule none;
	unsigned refreshes;
	uint64_t strays, patience; /* addresses in no mapping since the last refresh, and how many are borne before the next */
};

struct xp_rules *xp_rules_new(struct xp_target *target)
{
	struct xp_rules *rules = calloc(1, sizeof(*rules));
	struct slot *slots = calloc(CACHE_SLOTS, sizeof(*slots));

	if (!rules || !slots)
		abort(); /* as in the arena: an out of memory that nothing can mend */
	rules->target = target;
	rules->modules = xp_modules_new(target);
	rules->slots = slots;
	return rules;
}

void xp_rules_free(struct xp_rules *rules)
{
	if (!rules)
		return;
	xp_modules_free(rules->modules);
	free(rules->slots);
	free(rules);
}

const struct xp_modules *xp_rules_modules(const struct xp_rules *rules)
{
	return rules->modules;
}

static bool refresh(struct xp_rules *rules)
{
	xp_auto_err ignored = { 0 }; /* a target that is gone keeps its last maps */

	if (rules->refreshes == REFRESHES_MAX || rules->strays++ < rules->patience)
		return false;
	rules->refreshes++;
	rules->strays = 0;
	if (xp_target_maps_refresh(rules->target, &ignored))
		return false;
	memset(rules->slots, 0, CACHE_SLOTS * sizeof(*rules->slots));
	return true;
}

static const struct xp_mapping *find_code(const struct xp_rules *rules, uint64_t address)
{
	const struct xp_mapping *mapping = xp_maps_find(xp_target_maps(rules->target), address);

	return mapping && mapping->exec ? mapping : NULL;
}

/* A mapping made since the last look pays for the look; an address that is none makes the next one rarer. */
static const struct xp_mapping *find_mapping(struct xp_rules *rules, uint64_t address)
{
	const struct xp_mapping *mapping = find_code(rules, address);

	if (mapping || !refresh(rules))
		return mapping;
	mapping = find_code(rules, address);
	rules->patience = mapping ? 0 : rules->patience < PATIENCE_MAX ? rules->patience * 2 + 1 : PATIENCE_MAX;
	return mapping;
}

/* mov $15, %eax or %rax; syscall: the return from a signal handler, where its C library describes none. */
static bool is_sigreturn(const struct xp_elf *elf, uint64_t vaddr)
{
	static const unsigned char by_rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const unsigned char by_eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	const unsigned char *code = xp_elf_at(elf, vaddr, sizeof(by_rax));

	return code && (!memcmp(code, by_rax, sizeof(by_rax)) || !memcmp(code, by_eax, sizeof(by_eax)));
}

/* Layout of struct rt_sigframe above the return address: ucontext at rsp; its registers from byte 40 in the kernel's order. */
static const struct xp_cfi_rule *sigreturn_rule(void)
{
	enum { BREG7 = 0x77, DEREF = 0x06 };
	static const unsigned char at_bp[] = { BREG7, 0xf8, 0x00 }, at_sp[] = { BREG7, 0xa0, 0x01, DEREF }, at_ip[] = { BREG7, 0xa8, 0x01 };
	static const struct xp_cfi_rule rule = {
		.cfa = { .how = XP_CFI_COMPUTED, .expression = at_sp, .size = sizeof(at_sp) },
		.bp = { .how = XP_CFI_SAVED_AT, .expression = at_bp, .size = sizeof(at_bp) },
		.ra = { .how = XP_CFI_SAVED_AT, .expression = at_ip, .size = sizeof(at_ip) },
		.signal_frame = true,
	};

	return &rule;
}

static struct xp_rule make_rule(struct xp_rules *rules, const struct xp_mapping *mapping, uint64_t address)
{
	const struct xp_module *module = xp_modules_at(rules->modules, mapping);
	struct xp_rule rule = { .kind = XP_RULE_POINTER };
	uint64_t vaddr;
	struct xp_cfi cfi;

	if (!module || !xp_module_vaddr(module, mapping, address, &vaddr))
		return rule;
	if (module->framed && xp_cfi_find(&module->frames, module->elf, vaddr, &cfi)) {
		if (xp_cfi_rule(&cfi, vaddr, &rule.cfi))
			rule.kind = XP_RULE_CFI;
	} else if (is_sigreturn(module->elf, vaddr) || is_sigreturn(module->elf, vaddr + 1)) {
		rule = (struct xp_rule){ .kind = XP_RULE_CFI, .cfi = *sigreturn_rule() };
	}
	return rule;
}

const struct xp_rule *xp_rules_at(struct xp_rules *rules, uint64_t address)
{
	struct slot *slot = &rules->slots[xp_hash_mix(address) % CACHE_SLOTS];

	if (slot->address == address && address)
		return &slot->rule;
	const struct xp_mapping *mapping = find_mapping(rules, address);
	if (!mapping)
		return &rules->none;
	slot->rule = make_rule(rules, mapping, address);
	slot->address = address;
	return &slot->rule;
}

uint64_t xp_rules_stack_end(const struct xp_rules *rules, uint64_t sp)
{
	const struct xp_mapping *mapping = xp_maps_find(xp_target_maps(rules->target), sp);

	return mapping ? mapping->end : UINT64_MAX;
}
