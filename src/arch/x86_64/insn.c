/* SPDX-License-Identifier: Apache-2.0 */
/* x86_64 instructions through Zydis. In: bytes. Out: struct xp_insn. No state. */
#include "arch/insn.h"

#include <string.h>

#include <Zydis/Zydis.h>

static bool is_one_of(ZydisMnemonic mnemonic, const ZydisMnemonic *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == mnemonic)
			return true;
	return false;
}

static enum xp_flow flow_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *first)
{
	static const ZydisMnemonic stops[] = { ZYDIS_MNEMONIC_UD0, ZYDIS_MNEMONIC_UD1, ZYDIS_MNEMONIC_UD2, ZYDIS_MNEMONIC_INT3,
					       ZYDIS_MNEMONIC_HLT };
	ZydisInstructionCategory category = insn->meta.category;

	if (category == ZYDIS_CATEGORY_RET)
		return insn->mnemonic == ZYDIS_MNEMONIC_RET ? XP_FLOW_RETURN : XP_FLOW_STOP;
	if (category == ZYDIS_CATEGORY_COND_BR)
		return XP_FLOW_BRANCH;
	if (category == ZYDIS_CATEGORY_UNCOND_BR && insn->mnemonic != ZYDIS_MNEMONIC_XABORT) /* outside a transaction it does nothing */
		return first->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? XP_FLOW_JUMP : XP_FLOW_INDIRECT;
	if (category == ZYDIS_CATEGORY_CALL)
		return XP_FLOW_CALL;
	return is_one_of(insn->mnemonic, stops, sizeof(stops) / sizeof(stops[0])) ? XP_FLOW_STOP : XP_FLOW_NEXT;
}

/* Prefixes that the kernel refuses whatever follows: lock and the segment overrides es, cs, ss, ds (notrack is ds). */
static const char *bad_prefix(const ZydisDecodedInstruction *insn, enum xp_flow flow)
{
	for (unsigned i = 0; i < insn->raw.prefix_count; i++) {
		switch (insn->raw.prefixes[i].value) {
		case 0xf0:
			return "has a lock prefix";
		case 0x3e:
			if (insn->attributes & ZYDIS_ATTRIB_HAS_NOTRACK)
				return "is a notrack jump";
			return "has a segment prefix";
		case 0x26:
		case 0x2e:
		case 0x36:
			return "has a segment prefix";
		case 0x66:
			if (flow == XP_FLOW_JUMP || flow == XP_FLOW_BRANCH || flow == XP_FLOW_CALL)
				return "is a branch with a 16-bit prefix";
			break;
		default:
			break;
		}
	}
	return NULL;
}

static const char *refused_by_kernel(const ZydisDecodedInstruction *insn, enum xp_flow flow)
{
	static const ZydisMnemonic traps[] = { ZYDIS_MNEMONIC_INT, ZYDIS_MNEMONIC_INT1, ZYDIS_MNEMONIC_INT3, ZYDIS_MNEMONIC_INTO };
	static const ZydisMnemonic forbidden[] = { ZYDIS_MNEMONIC_IRET,	 ZYDIS_MNEMONIC_IRETD, ZYDIS_MNEMONIC_IRETQ, ZYDIS_MNEMONIC_CLI,
						   ZYDIS_MNEMONIC_STI,	 ZYDIS_MNEMONIC_HLT,   ZYDIS_MNEMONIC_IN,    ZYDIS_MNEMONIC_OUT,
						   ZYDIS_MNEMONIC_INSB,	 ZYDIS_MNEMONIC_INSW,  ZYDIS_MNEMONIC_INSD,  ZYDIS_MNEMONIC_OUTSB,
						   ZYDIS_MNEMONIC_OUTSW, ZYDIS_MNEMONIC_OUTSD };
	const char *prefix = bad_prefix(insn, flow);

	if (prefix)
		return prefix;
	if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX || insn->encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX)
		return "is an AVX-512 (EVEX) instruction";
	if (is_one_of(insn->mnemonic, traps, sizeof(traps) / sizeof(traps[0])))
		return "is a trap";
	if (is_one_of(insn->mnemonic, forbidden, sizeof(forbidden) / sizeof(forbidden[0])) || insn->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return "is privileged";
	return NULL;
}

static void read_memory(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand, uint64_t address, struct xp_insn *ret)
{
	ZyanU64 named;

	if (operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_NONE) {
		if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, operand, address, &named)))
			ret->reference = named;
		else if (operand->mem.disp.has_displacement) /* [table + index * 8] */
			ret->reference = (uint64_t)operand->mem.disp.value;
	}
	ret->reads_index = operand->mem.index != ZYDIS_REGISTER_NONE;
	if (operand->mem.base >= ZYDIS_REGISTER_RAX && operand->mem.base <= ZYDIS_REGISTER_R15)
		ret->memory_base = (uint8_t)(operand->mem.base - ZYDIS_REGISTER_RAX + 1);
}

static void read_operands(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands, uint64_t address, struct xp_insn *ret)
{
	for (unsigned i = 0; i < insn->operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			read_memory(insn, operand, address, ret);
		else if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !operand->imm.is_relative && operand->imm.value.u > 0xffff)
			ret->reference = operand->imm.value.u;
	}
	if (ret->flow == XP_FLOW_INDIRECT && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		ret->reads_slot = ret->reference && !ret->reads_index;
	if (operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[0].imm.is_relative) {
		ZyanU64 target;

		if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, &operands[0], address, &target)))
			ret->target = target;
	}
}

bool xp_insn_decode(const unsigned char *bytes, size_t size, uint64_t address, struct xp_insn *ret_insn)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	memset(operands, 0, sizeof(operands));
	if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, size, &insn, operands)))
		return false;
	struct xp_insn result = {
		.address = address,
		.flow = flow_of(&insn, &operands[0]),
		.size = insn.length,
		.notrack = insn.attributes & ZYDIS_ATTRIB_HAS_NOTRACK,
		.landing_pad = insn.mnemonic == ZYDIS_MNEMONIC_ENDBR64,
		.locked = insn.attributes & ZYDIS_ATTRIB_HAS_LOCK,
		.nop = insn.mnemonic == ZYDIS_MNEMONIC_NOP,
		.nop5 = insn.mnemonic == ZYDIS_MNEMONIC_NOP && insn.length == 5,
		.compares_memory = insn.mnemonic == ZYDIS_MNEMONIC_CMP,
	};
	read_operands(&insn, operands, address, &result);
	result.compares_memory = result.compares_memory && result.memory_base;
	result.loads_distance = insn.mnemonic == ZYDIS_MNEMONIC_MOVSXD && result.reads_index;
	result.refused = refused_by_kernel(&insn, result.flow);
	*ret_insn = result;
	return true;
}
