// The page of a triage: what held the process up first, then the window source by source.

const TITLES = {
	cgroup_throttled: "Stopped by a CPU limit", runqueue_wait: "Waits for a CPU", cpu_hotspot: "Hot function", cpu_hot_path: "Hot path",
	cpu_kernel: "CPU time in the kernel", cpu_bound_thread: "Thread bound by CPU", syscall_blocked: "Blocked in a system call",
	syscall_rate: "Storm of system calls", syscall_errors: "Failing system calls", fully_blocked: "Everything waits", python_gil: "Python's interpreter lock",
	python_gc: "Python's garbage collector", busy_children: "Waits for busy children", waits_for_child: "Waits for a child process",
	thread_churn: "Short-lived threads", major_faults: "Page faults from disk", gpu_kernel: "GPU kernel", gpu_launch_bound: "GPU waits for launches",
	gpu_idle: "GPU idle", gpu_wait: "Waits for the GPU", gpu_copies: "Copies to and from the GPU", gpu_pageable_copies: "Copies from pageable memory",
	gpu_clock_limited: "GPU clock limited", gpu_link_degraded: "GPU link degraded", gpu_memory_pressure: "GPU memory nearly full", gpu_errors: "GPU errors",
	grant_right: "A right is missing",
};

function nextStep(finding, command, invocation) {
	const next = finding.next;
	if (!next) {
		return null;
	}
	if (next.kind === "measurement_spec") {
		const spec = JSON.stringify(next.spec, null, 1);
		return el("div", { class: "next" }, el("p", {}, el("strong", {}, "Next: "), "time every ", el("code", {}, next.spec.start_selector), " \u2192 ",
			el("code", {}, next.spec.end_selector), next.target_mutation && " (brings the agent into the process)"),
		command && pasteBox(command),
		el("details", {}, el("summary", {}, "The specification itself"), el("pre", { tabindex: "0" }, spec.split("\n").map((line) => [line, el("br")])), copyButton(spec, "Copy specification")));
	}
	const line = command || (next.command && next.command.map((word, i) => (i ? word : word === "xprobe" ? invocation : word)).join(" "));
	return el("div", { class: "next" }, el("p", {}, el("strong", {}, "Next: "), next.message, next.object && !line && [" ", el("code", {}, next.object)]), line && pasteBox(line));
}

function findingCard(finding, command, invocation, showPid) {
	const share = finding.window_share, known = given(share), interval = finding.window_share_interval_95;
	return el("article", { class: "finding" + (finding.rank === 1 ? " first" : ""), "data-code": finding.code },
		el("div", { class: "share" }, el("span", { class: "big" }, known ? percent(share) : "\u2013"), el("span", {}, known ? "of the window" : "share not known")),
		el("div", { class: "what" },
			el("h3", {}, el("span", { class: "rank" }, finding.rank + "."), " ", TITLES[finding.code] || words(finding.code), ": ", el("b", {}, finding.subject)),
			known && bar(share, "hot"),
			el("p", { class: "message" }, finding.message),
			el("p", { class: "hint" }, el("code", {}, finding.code), showPid && ` \u00b7 pid ${finding.pid}`, finding.confidence === "estimated" && " \u00b7 estimated from samples",
				interval && ` \u00b7 95%: ${percent(interval[0])} to ${percent(interval[1])}`),
			nextStep(finding, command, invocation),
			el("details", { open: finding.rank === 1 }, el("summary", {}, "Evidence in numbers"), evidenceList(finding.evidence) || el("p", {}, "none"))));
}

function findingsSection(id, findings, total, commands, page, showPid) {
	return section(id, "What held it up", findings.length ? "Ranked by the share of the window; shares overlap." : null,
		findings.length ? findings.map((finding, i) => findingCard(finding, commands && commands[i], page.invocation, showPid))
			: el("p", {}, "No rule saw its cause above its bound. The numbers below are all there is to say."),
		total > findings.length && el("p", {}, `and ${total - findings.length} smaller ones`));
}

function threadsSection(id, summary, extra, windowNs) {
	const rows = (extra && extra.threads) || summary.top, total = (extra && extra.threads_total) || rows.length, width = Math.max(windowNs, 1);
	const times = (row) => stacked([[row.on_cpu_ns / width, "cpu", "on a CPU: " + ns(row.on_cpu_ns)], [row.runqueue_ns / width, "queue", "waiting for a CPU: " + ns(row.runqueue_ns)],
		[row.blocked_ns / width, "blocked", "blocked: " + ns(row.blocked_ns)]]);
	const columns = [
		{ name: "Thread", get: (row) => [row.name, " ", el("span", { class: "dim" }, row.tid)], sort: (row) => row.name },
		{ name: "The window", get: times, wide: true },
		{ name: "On a CPU", get: (row) => percent(row.on_cpu_ns / width), sort: (row) => row.on_cpu_ns, num: true },
		{ name: "Waits for one", get: (row) => percent(row.runqueue_ns / width), sort: (row) => row.runqueue_ns, num: true },
		{ name: "Blocked", get: (row) => percent(row.blocked_ns / width), sort: (row) => row.blocked_ns, num: true },
	];
	const groups = (summary.groups || []).filter((group) => group.threads > 1);
	return section(id, "Where the threads' time went", [plural(summary.count, "thread"), `, ${count(summary.active)} active`, summary.started ? `, ${count(summary.started)} started` : "",
		summary.ended ? `, ${count(summary.ended)} ended` : "", summary.vanished_cpu_ns ? `, ${ns(summary.vanished_cpu_ns)} of CPU time by short-lived ones` : ""].join(""),
	el("p", { class: "legend" }, [["cpu", "on a CPU"], ["queue", "waits for a CPU"], ["blocked", "blocked"]].map(([kind, name]) => el("span", {}, el("i", { class: "swatch " + kind, "aria-hidden": "true" }), name))),
	table(total > rows.length ? `The busiest ${count(rows.length)} of ${count(total)} threads` : "Threads, busiest first", columns, rows, 12),
	groups.length > 0 && table("By name, digits as #", [
		{ name: "Threads", get: (group) => [group.name_pattern, " ", el("span", { class: "dim" }, "\u00d7" + count(group.threads))], sort: (group) => group.name_pattern },
		{ name: "Each on average", wide: true, get: (group) => times({ on_cpu_ns: group.on_cpu_ns / group.threads, runqueue_ns: group.runqueue_ns / group.threads, blocked_ns: group.blocked_ns / group.threads }) },
		{ name: "CPU, all", get: (group) => ns(group.on_cpu_ns), sort: (group) => group.on_cpu_ns, num: true },
		{ name: "Blocked, all", get: (group) => ns(group.blocked_ns), sort: (group) => group.blocked_ns, num: true },
	], groups, 12));
}

function cgroupSection(id, group) {
	const stopped = group.throttled_periods ? `, stopped for ${ns(group.throttled_ns)} in ${count(group.throttled_periods)} of ${count(group.periods)} periods` : group.throttled_ns === null ? ", the kernel does not report throttling" : ", never stopped";
	return section(id, "CPU limit", null, el("p", {}, el("code", {}, group.path), given(group.cpus) ? `: limit ${real(group.cpus)} CPUs` : ": no limit", stopped));
}

function cpuSection(id, summary, extra) {
	const flame = extra && extra.cpu && extra.cpu.total > 0 && new Flame(extra.cpu, { id: id + "-flame", label: "flame graph of CPU samples", all: "all CPU samples", unit: (value) => plural(value, "sample") });
	const where = (row) => (row.source_path ? [base(row.source_path), row.line ? ":" + row.line : ""].join("") : row.module ? base(row.module) : row.kind);
	const look = (row) => (flame && row.symbol ? el("button", { type: "button", class: "link", onclick: () => {
		flame.search.value = row.symbol;
		flame.find(flame.search.value);
		flame.node.scrollIntoView({ block: "nearest" });
	} }, row.symbol) : row.symbol || "without a name");
	return section(id, "Who ran on the CPUs", [plural(summary.observed, "sample"), given(summary.coverage) ? `, ${percent(summary.coverage)} of what was to be expected` : ""].join(""),
		flame ? flame.node : el("p", {}, "No sample: the process did not run."),
		summary.top.length > 0 && table("Functions by their own share", [
			{ name: "Function", get: look, sort: (row) => row.symbol || "" },
			{ name: "In", get: where, sort: where },
			{ name: "", get: (row) => bar(row.exclusive_proportion, "hot"), wide: true },
			{ name: "Itself", get: (row) => percent(row.exclusive_proportion), sort: (row) => row.exclusive_proportion, num: true },
			{ name: "With callees", get: (row) => percent(row.inclusive_proportion), sort: (row) => row.inclusive_proportion, num: true },
		], summary.top));
}

function blockedSection(id, summary, extra) {
	const flame = extra && extra.blocked && extra.blocked.total > 0 && new Flame(extra.blocked, { id: id + "-flame", label: "flame graph of blocked stacks", all: "all blocked time", unit: (value) => ns(value * 1000) });
	return section(id, "Who waited, and where", [plural(summary.blocks, "block"), `, ${ns(summary.blocked_ns)} of all threads together`, summary.stacks_lost ? `, ${plural(summary.stacks_lost, "long one")} without a stack` : ""].join(""),
		flame && flame.node,
		summary.top.length > 0 && table("The longest waits", [
			{ name: "Waits in", get: (row) => row.syscall_name || row.reason, sort: (row) => row.syscall_name || row.reason },
			{ name: "Threads", get: (row) => row.thread_name_pattern, sort: (row) => row.thread_name_pattern },
			{ name: "Stack, innermost first", get: (row) => el("span", { class: "stack" }, row.stack.join(" \u2190 ") || "no stack"), wide: true },
			{ name: "Times", get: (row) => count(row.count), sort: (row) => row.count, num: true },
			{ name: "Total", get: (row) => ns(row.total_ns), sort: (row) => row.total_ns, num: true },
			{ name: "Longest", get: (row) => ns(row.max_ns), sort: (row) => row.max_ns, num: true },
		], summary.top));
}

function syscallsSection(id, summary, extra, windowNs) {
	const rows = (extra && extra.syscalls) || summary.top, total = (extra && extra.syscalls_total) || rows.length;
	const most = Math.max(1, ...rows.map((row) => row.total_ns)), seconds = Math.max(windowNs, 1) / 1e9;
	return section(id, "System calls", `${plural(summary.calls, "call")}, ${count(summary.errors)} failed, ${count(summary.open_at_end)} open at the end`,
		rows.length > 0 && table(total > rows.length ? `The first ${count(rows.length)} of ${count(total)}, by time` : "By time in them", [
			{ name: "Call", get: (row) => row.syscall_name || `number ${row.number}`, sort: (row) => row.syscall_name || "" },
			{ name: "", get: (row) => bar(row.total_ns / most, "blocked"), wide: true },
			{ name: "Count", get: (row) => count(row.count), sort: (row) => row.count, num: true },
			{ name: "A second", get: (row) => count(row.count / seconds), sort: (row) => row.count, num: true },
			{ name: "Total", get: (row) => ns(row.total_ns), sort: (row) => row.total_ns, num: true },
			{ name: "Mean", get: (row) => (row.count ? ns(row.total_ns / row.count) : "\u2013"), sort: (row) => row.total_ns / Math.max(row.count, 1), num: true },
			{ name: "Longest", get: (row) => ns(row.max_ns), sort: (row) => row.max_ns, num: true },
			{ name: "Failed", get: (row) => (row.errors ? [count(row.errors), row.errno ? ` ${row.errno}` : ""] : "0"), sort: (row) => row.errors, num: true },
		], rows, 12));
}
