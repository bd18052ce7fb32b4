/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose exits are known by label: every label x_NAME_N is an exit of NAME. Those under "refused" must be refused, for the reason
 * in their comment.
 */
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm
	.macro finish name
	.cfi_endproc
	.size \name, . - \name
	.p2align 4, 0x90
	.endm

	.text
function one_ret
	mov %edi, %eax
x_one_ret_1:
	ret
finish one_ret

function only_ret
x_only_ret_1:
	ret
finish only_ret

function two_rets
	endbr64
	test %edi, %edi
	je 1f
x_two_rets_1:
	ret
1:	mov $1, %eax
x_two_rets_2:
	repz ret
finish two_rets

function tail_direct
	test %edi, %edi
	je 1f
x_tail_direct_1:
	jmp one_ret
1:
x_tail_direct_2:
	ret
finish tail_direct

function tail_slot
	xor %eax, %eax
x_tail_slot_1:
	jmp *slot(%rip)
finish tail_slot

function tail_vtable
	mov (%rdi), %rax
x_tail_vtable_1:
	jmp *16(%rax)
finish tail_vtable

function switch_pic
	cmp $2, %edi
	ja 9f
	lea table_pic(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
l_pic_0:
	mov $10, %eax
x_switch_pic_1:
	ret
l_pic_1:
	mov $11, %eax
	jmp 8f
l_pic_2:
	mov $12, %eax
8:
x_switch_pic_2:
	ret
9:
x_switch_pic_3:
	jmp one_ret
finish switch_pic

/* The table holds whole addresses, which only relocations tell in a position-independent file. */
function switch_wide
	lea table_wide(%rip), %rdx
	jmp *(%rdx,%rdi,8)
l_wide_0:
x_switch_wide_1:
	ret
l_wide_1:
	mov $1, %eax
x_switch_wide_2:
	ret
finish switch_wide

/* A switch and, apart from it, a tail call through an object's table. */
function switch_and_tail
	lea table_both(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	notrack jmp *%rax
l_both_0:
	mov (%rsi), %rax
x_switch_and_tail_1:
	jmp *8(%rax)
l_both_1:
x_switch_and_tail_2:
	ret
finish switch_and_tail

/* The table's address is worked out before the loop. */
function switch_hoisted
	lea table_far(%rip), %rdx
	jmp 2f
1:	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
l_far_0:
	dec %edi
2:	test %edi, %edi
	jne 1b
x_switch_hoisted_1:
	ret
l_far_1:
	mov (%rsi), %rax
x_switch_hoisted_2:
	jmp *8(%rax)
finish switch_hoisted

/* Programs of one thread jump over the lock prefix. */
function skips_lock
	test %esi, %esi
	je 1f + 1
1:	lock incl (%rdi)
x_skips_lock_1:
	ret
finish skips_lock

function loops
1:	dec %edi
	jne 1b
	call one_ret
x_loops_1:
	ret
finish loops

function split
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	test %edi, %edi
	jne split.cold
2:	add $8, %rsp
	.cfi_def_cfa_offset 8
x_split_1:
	ret
finish split

function stack_switch
	push %rbp
	.cfi_def_cfa_offset 16
	mov %rsp, %rbp
	leave
x_stack_switch_1:
	ret $16
finish stack_switch

	.section .text.unlikely, "ax", @progbits
	.type split.cold, @function
split.cold:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	call one_ret
	cmp $7, %eax
	je 2b
	add $8, %rsp
x_split_2:
	ret
	.cfi_endproc
	.size split.cold, . - split.cold

/* Refused. */
	.text
function bad_conditional_tail /* a probe cannot tell whether the condition holds */
	test %edi, %edi
	jne one_ret
	ret
finish bad_conditional_tail

function bad_hoisted /* the labels' table is far from the jump */
	lea table_hoisted(%rip), %rdx
	test %edi, %edi
	je 1f
	jmp 2f
1:	ret
2:	mov (%rdx,%rdi,8), %rax
	jmp 3f
3:	jmp *%rax
l_hoisted_0:
	ret
l_hoisted_1:
	mov $3, %eax
	ret
finish bad_hoisted

function bad_fall_through /* runs on into the next function */
	mov $1, %eax
	.cfi_endproc
	.size bad_fall_through, . - bad_fall_through

function never_returns
	sub $8, %rsp
	call one_ret
	ud2
finish never_returns

function bad_data /* not an instruction */
	jmp 1f
	.byte 0x06, 0x06
1:	ret
finish bad_data

function bad_middle /* jumps into an instruction */
	jmp 1f + 1
1:	mov $0x90909090, %eax
	ret
finish bad_middle

function bad_many /* 65 exits */
	.rept 65
	test %edi, %edi
	je 1f
	ret
1:
	.endr
	ud2
finish bad_many

/* Entries. */
function entry_trap
	int3
	ret
finish entry_trap

function entry_lock
	lock incl (%rdi)
	ret
finish entry_lock

function entry_hlt
	hlt
	ret
finish entry_hlt

function entry_notrack
	notrack jmp *%rax
finish entry_notrack

function entry_evex
	vpxord %zmm0, %zmm0, %zmm0
	ret
finish entry_evex

function entry_endbr
	endbr64
	push %rbp
	pop %rbp
	ret
finish entry_endbr

function entry_endbr_lock
	endbr64
	lock incl (%rdi)
	ret
finish entry_endbr_lock

function entry_nop5
	.byte 0x0f, 0x1f, 0x44, 0, 0
	ret
finish entry_nop5

function inner_nop5
	push %rbp
at_inner_nop5:
	.byte 0x0f, 0x1f, 0x44, 0, 0
	pop %rbp
	ret
finish inner_nop5

/* Three names at one address. */
	.weak same_weak
	.type same_weak, @function
same_weak:
	.type same_local, @function
same_local:
function same_global
	mov $3, %eax
	ret
	.size same_weak, . - same_weak
	.size same_local, . - same_local
finish same_global

/* Untyped and without size: it reaches to the next function. */
	.globl untyped
untyped:
	.cfi_startproc
	xor %eax, %eax
	ret
	.cfi_endproc

	.section .data.rel.ro, "aw", @progbits
	.p2align 3
table_wide:
	.quad l_wide_0, l_wide_1
table_hoisted:
	.quad l_hoisted_0, l_hoisted_1
slot:
	.quad one_ret
	.section .rodata, "a", @progbits
	.p2align 2
table_pic:
	.long l_pic_0 - table_pic, l_pic_1 - table_pic, l_pic_2 - table_pic
table_far:
	.long l_far_0 - table_far, l_far_1 - table_far
table_both:
	.long l_both_0 - table_both, l_both_1 - table_both
	.section .note.GNU-stack, "", @progbits
