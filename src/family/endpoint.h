/* SPDX-License-Identifier: Apache-2.0 */
/* A selector after parsing, and after resolution on a target. Made by select/ and family/, read by everyone behind. */
#ifndef XP_FAMILY_ENDPOINT_H
#define XP_FAMILY_ENDPOINT_H

#include "base/field.h"
#include "event/api_name.h"
#include "event/event.h"
#include "target/target.h"

struct xp_regex;
struct xp_family;

enum xp_boundary { XP_AT_ENTRY, XP_AT_EXIT };
enum xp_uprobe_target { XP_UPROBE_SYMBOL, XP_UPROBE_FULL_NAME, XP_UPROBE_OFFSET };
enum xp_name_match { XP_MATCH_ANY, XP_MATCH_EXACT, XP_MATCH_PREFIX, XP_MATCH_SUFFIX, XP_MATCH_CONTAINS, XP_MATCH_REGEX };

/* One place in a file where a probe sits. */
struct xp_probe_site {
	uint64_t offset;	 /* file offset of the probe, behind endbr64 when there is one */
	uint64_t ref_ctr_offset; /* USDT semaphore's file offset, 0 = none */
	bool uretprobe;		 /* kernel return probe; else an entry probe (also on an exit site) */
	bool exit_site;		 /* an entry probe that reports the function's exit */
};

/* Contract 10.4.1 ResolvedProbe, minus target and selector, plus where to attach. */
struct xp_resolved {
	const char *binary_path; /* as the target maps it */
	const char *attach_path; /* for the kernel: /proc/PID/map_files/... */
	const char *build_id;
	int object_kind; /* enum xp_object_kind */
	const char *symbol, *symbol_demangled, *symbol_version;
	struct xp_opt_u64 symbol_virtual_address, symbol_size;
	uint64_t file_offset; /* function start (or the offset asked for) */
	uint64_t runtime_address;
	struct xp_mapping mapping;
	int return_method;  /* enum xp_return_method */
	bool goroutine_key; /* Go file: events are keyed by r14 */
	bool replaced_on_disk;
	bool cxx_return;		       /* kernel return probe forced by --allow-cxx-return */
	const char *usdt_provider, *usdt_name; /* python: set when a marker is used */
	const struct xp_probe_site *sites;
	size_t n_sites;
};
enum xp_object_kind { XP_OBJECT_EXECUTABLE, XP_OBJECT_PIE, XP_OBJECT_SHARED, XP_OBJECT_KIND_COUNT };
extern const char *const xp_object_kind_names[XP_OBJECT_KIND_COUNT];
enum xp_return_method { XP_RETURN_NONE = -1, XP_RETURN_URETPROBE, XP_RETURN_EXIT_SITES, XP_RETURN_METHOD_COUNT };
extern const char *const xp_return_method_names[XP_RETURN_METHOD_COUNT];

struct xp_endpoint {
	const struct xp_family *family;
	const char *selector; /* text as given */
	enum xp_event_type type;
	enum xp_boundary boundary;
	struct { /* uprobe: */
		const char *path, *name, *version;
		enum xp_uprobe_target target;
		bool default_version; /* "@@" */
		uint64_t offset;
	} uprobe;
	struct { /* syscall: */
		const char *name;
		uint32_t number;
	} syscall;
	struct { /* tracepoint: */
		const char *category, *name;
	} tracepoint;
	struct { /* cuda: */
		enum xp_api_domain domain;
		const char *api_name;	  /* folded, or "@launch" */
		const char *pattern;	  /* text behind name~ or function~; NULL = no filter */
		bool on_function;	  /* function~ */
		enum xp_name_match match; /* how the pattern reduces; XP_MATCH_REGEX when it does not */
		const char *literal;	  /* of exact, prefix, suffix, contains */
		struct xp_regex *regex;	  /* owned by the arena; NULL = any */
		int memcpy_kind;	  /* enum xp_memcpy_kind, -1 = any */
	} cuda;
	const struct xp_resolved *resolved; /* uprobe and python, after resolve; else NULL */
};

#endif
