// SPDX-License-Identifier: Apache-2.0
/* The interpreter's native functions in a stack: its evaluation loop and the plumbing between calls. In: names, offsets. No state. */
#include "elf/code.h"
#include "elf/eh_frame.h"
#include "elf/python_priv.h"

#define EVAL "_PyEval_EvalFrameDefault"
#define HANDLER "_TAIL_CALL_"

/* A loop in one piece has tens of KiB; what only calls the first handler has one or two. */
enum { LOOP_BYTES_MIN = 8192 };

struct eval {
	struct xp_symbol symbol;
	bool found;
};

static bool take_eval(const struct xp_symbol *symbol, void *arg)
{
	struct eval *eval = arg;

	if (symbol->name_len != strlen(EVAL))
		return true;
	eval->symbol = *symbol;
	eval->found = true;
	return false;
}

/* Code that begins with a frame already set up is a part of the function that jumps there, not a function. Returns its size, once. */
static uint64_t add_part(const struct xp_elf *elf, uint64_t target, struct xp_python_place *place)
{
	struct xp_fde fde;
	uint64_t offset;

	if (!xp_elf_fde(elf, target, &fde) || !fde.framed || !xp_elf_to_offset(elf, fde.start, &offset))
		return 0;
	for (size_t i = 0; i < place->n_cold; i++)
		if (place->cold[i] == offset)
			return 0;
	if (place->n_cold == XP_PYTHON_COLD_MAX)
		return 0;
	place->cold[place->n_cold++] = offset;
	return fde.size;
}

/* A stripped interpreter has no name for the parts that the compiler moved away: the loop's own jumps lead there. */
void xp_python_eval_shape(struct xp_elf *elf, struct xp_python_place *place)
{
	struct eval eval = { 0 };
	struct xp_insn insn;
	uint64_t parts = 0;

	xp_elf_load_symbols(elf, -1, place->path);
	xp_symbols_each(elf, EVAL, take_eval, &eval);
	if (!eval.found)
		return;
	uint64_t start = eval.symbol.address, size = xp_symbols_size(elf, &eval.symbol);
	for (uint64_t at = start; at < start + size && xp_code_insn(elf, at, &insn); at += insn.size)
		if ((insn.flow == XP_FLOW_BRANCH || insn.flow == XP_FLOW_JUMP) && insn.target - start >= size)
			parts += add_part(elf, insn.target, place);
	place->tail_calls = size + parts < LOOP_BYTES_MIN;
}

bool xp_python_is_its_file(const struct xp_python *python, const char *module_path)
{
	return module_path && python->place.path && !strcmp(module_path, python->place.path);
}

bool xp_python_is_eval(const struct xp_python *python, const char *symbol, const char *module_path, struct xp_opt_u64 function_offset)
{
	if (!xp_python_is_its_file(python, module_path))
		return false;
	if (symbol && !strncmp(symbol, EVAL, strlen(EVAL)))
		return !symbol[strlen(EVAL)] || symbol[strlen(EVAL)] == '.';
	for (size_t i = 0; !symbol && function_offset.set && i < python->place.n_cold; i++)
		if (python->place.cold[i] == function_offset.v)
			return true;
	return false;
}

bool xp_python_is_handler(const struct xp_python *python, const char *symbol, const char *module_path)
{
	return xp_python_is_its_file(python, module_path) &&
	       (symbol ? !strncmp(symbol, HANDLER, strlen(HANDLER)) : python->place.tail_calls);
}

/* What leads from one evaluation to the next, and from main to the first; a final * stands for any rest. Sorted. */
static const char *const plumbing[] = {
	"PyCFunction_Call*",
	"PyEval_Call*",
	"PyEval_EvalCode*",
	"PyEval_EvalFrame*",
	"PyFunction_*call*",
	"PyIter_Send",
	"PyMethod_Call*",
	"PyObject_Call*",
	"PyObject_Vectorcall*",
	"PyRun_*",
	"PyVectorcall_*",
	"Py_BytesMain",
	"Py_Main",
	"Py_RunMain",
	"_PyCFunction_*call*",
	"_PyCFunction_Fast*",
	"_PyEval_EvalCode*",
	"_PyEval_EvalFrame",
	"_PyEval_Vector*",
	"_PyFunction_FastCall*",
	"_PyFunction_Vectorcall*",
	"_PyGen_Send*",
	"_PyMethodDef_RawFastCall*",
	"_PyMethodDescr_*",
	"_PyMethod_*call*",
	"_PyObject_Call*",
	"_PyObject_FastCall*",
	"_PyObject_MakeTpCall*",
	"_PyObject_Vectorcall*",
	"_PyRun_*",
	"_PyStack_*",
	"_PyVectorcall_*",
	"_Py_RunMain*",
	"bound_method_call*",
	"builtin_exec*",
	"call_function*",
	"call_maybe*",
	"call_method*",
	"call_unbound*",
	"cfunction_call*",
	"cfunction_vectorcall*",
	"cm_vectorcall*",
	"do_call_core*",
	"function_code_fastcall*",
	"gen_iternext*",
	"gen_send*",
	"lookup_maybe_method*",
	"method_call*",
	"method_vectorcall*",
	"object_vacall*",
	"pymain_*",
	"pyrun_*",
	"pythread_wrapper*",
	"run_eval_code_obj*",
	"run_mod*",
	"slot_*",
	"t_bootstrap*",
	"thread_run*",
	"type_call*",
	"vectorcall_*",
	"wrap_call*",
};

/* `pattern` has at most two *, the last one at its end: a start, and a word that follows somewhere. */
static bool fits(const char *pattern, const char *symbol)
{
	size_t stem = strcspn(pattern, "*");

	if (strncmp(symbol, pattern, stem) != 0)
		return false;
	if (!pattern[stem])
		return !symbol[stem];
	const char *word = pattern + stem + 1;
	size_t len = strcspn(word, "*");
	return !len || memmem(symbol + stem, strlen(symbol + stem), word, len);
}

bool xp_python_is_plumbing(const struct xp_python *python, const char *symbol, const char *module_path)
{
	if (!xp_python_is_its_file(python, module_path))
		return false;
	if (!symbol || !strncmp(symbol, HANDLER, strlen(HANDLER)))
		return true;
	for (size_t i = 0; i < XP_LEN(plumbing); i++)
		if (fits(plumbing[i], symbol))
			return true;
	return false;
}
