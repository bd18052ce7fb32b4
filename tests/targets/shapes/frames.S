/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that compilers seldom make: CFA by expression, remembered states, rbp as an ordinary register, rbp saved far from the CFA. */
	.text
	.globl	frames_assembly
	.type	frames_assembly, @function
frames_assembly:
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	movq	%rdi, %rbx
	call	realigned
	movq	%rbx, %rdi
	call	borrowed
	movq	%rbx, %rdi
	call	forked
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size	frames_assembly, . - frames_assembly

/* The CFA lies in memory: DW_OP_breg7 8; DW_OP_deref. */
	.type	realigned, @function
realigned:
	.cfi_startproc
	leaq	8(%rsp), %rax
	leaq	-136(%rsp), %r10
	andq	$-128, %r10
	movq	%rax, 8(%r10)
	movq	%r10, %rsp
	.cfi_escape 0x0f, 0x03, 0x77, 0x08, 0x06
	movq	%rdi, %rax
	call	*%rax
	movq	8(%rsp), %rax
	leaq	-8(%rax), %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	realigned, . - realigned

/* rbp holds nothing of the frame and is saved below other data. */
	.type	borrowed, @function
borrowed:
	.cfi_startproc
	subq	$40, %rsp
	.cfi_def_cfa_offset 48
	movq	%rbp, 16(%rsp)
	.cfi_offset %rbp, -32
	movq	$-3, %rbp
	call	*%rdi
	movq	16(%rsp), %rbp
	.cfi_restore %rbp
	addq	$40, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	borrowed, . - borrowed

/* Two ways out of one frame. */
	.type	forked, @function
forked:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rdi
	pushq	$2
1:
	call	*8(%rsp)
	decq	(%rsp)
	jnz	2f
	.cfi_remember_state
	leave
	.cfi_def_cfa %rsp, 8
	ret
2:
	.cfi_restore_state
	pushq	$7
	popq	%rax
	jmp	1b
	.cfi_endproc
	.size	forked, . - forked
	.section .note.GNU-stack, "", @progbits
