// Puts the page together: theme, navigation, the processes of a triage, sources and files.

const missing = (source) => (source.reason ? words(source.reason) + (source.detail ? ": " + source.detail : "") : source.detail || "");

function deviceCard(device) {
	const events = Object.entries(device.clock_event_ns || {}).filter(([, value]) => value > 0);
	const facts = [
		["utilization", given(device.utilization) && percent(device.utilization)],
		["memory", given(device.memory_used) && given(device.memory_total) && `${bytes(device.memory_used)} of ${bytes(device.memory_total)}`],
		["of this process", given(device.process_memory) && bytes(device.process_memory)],
		["temperature", given(device.temperature_c) && `${device.temperature_c} \u00b0C`],
		["power", given(device.power_mw) && `${real(device.power_mw / 1000)} W` + (given(device.power_limit_mw) ? ` of ${real(device.power_limit_mw / 1000)} W` : "")],
		["SM clock", given(device.sm_clock_mhz) && `${device.sm_clock_mhz} MHz` + (given(device.sm_clock_max_mhz) ? ` of ${device.sm_clock_max_mhz} MHz` : "")],
		["PCIe", given(device.pcie_width) && `generation ${device.pcie_generation} of ${device.pcie_generation_max}, width ${device.pcie_width} of ${device.pcie_width_max}`],
		["uncorrected errors", given(device.ecc_uncorrected) && count(device.ecc_uncorrected)],
		["remap pending", device.remap_pending === true && "yes"],
		["clock held by", events.length > 0 && events.map(([reason, value]) => `${words(reason)} ${ns(value)}`).join(", ")],
		["MIG", device.mig === true && "on"],
	].filter(([, value]) => value);
	return el("div", { class: "device" }, el("h3", {}, `GPU ${device.index}: `, device.name || "", " ", el("span", { class: "dim" }, device.uuid || "")),
		given(device.utilization) && bar(device.utilization, "cpu"),
		el("dl", { class: "evidence" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
}

function kernelsPart(kernels, extra) {
	const rows = (extra && extra.kernels) || kernels.top, most = Math.max(1, ...rows.map((row) => row.total_ns));
	return [el("p", {}, [plural(kernels.kernels, "kernel"), given(kernels.busy_share) ? `, device busy ${percent(kernels.busy_share)} of the window at most` : "",
		`, ${plural(kernels.launches, "launch", "launches")}`, kernels.graph_launches ? `, ${plural(kernels.graph_launches, "graph launch", "graph launches")}` : ""].join("")),
	table(kernels.groups > rows.length ? `The first ${count(rows.length)} of ${count(kernels.groups)} kernels, by time` : "Kernels by time", [
		{ name: "Kernel", get: (row) => row.function || row.name || "without a name", sort: (row) => row.function || row.name || "" },
		{ name: "", get: (row) => bar(row.total_ns / most, "hot"), wide: true },
		{ name: "Device", get: (row) => row.device_id, sort: (row) => row.device_id, num: true },
		{ name: "Count", get: (row) => count(row.count), sort: (row) => row.count, num: true },
		{ name: "Total", get: (row) => ns(row.total_ns), sort: (row) => row.total_ns, num: true },
		{ name: "Mean", get: (row) => ns(row.mean_ns), sort: (row) => row.mean_ns, num: true },
	], rows, 12)];
}

function copiesPart(copies) {
	const most = Math.max(1, ...copies.groups.map((row) => row.total_ns));
	const name = (row) => [row.activity, row.memcpy_kind, row.src_memory && `${row.src_memory} \u2192 ${row.dst_memory}`].filter(Boolean).map(words).join(" ");
	return [el("p", {}, `${plural(copies.copies, "copy", "copies")}, ${bytes(copies.bytes)}, ${ns(copies.total_ns)}, ${plural(copies.sets, "set")}`),
		table("Copies and sets by time", [
			{ name: "What", get: name, sort: name },
			{ name: "", get: (row) => bar(row.total_ns / most, "queue"), wide: true },
			{ name: "Device", get: (row) => row.device_id, sort: (row) => row.device_id, num: true },
			{ name: "Count", get: (row) => count(row.count), sort: (row) => row.count, num: true },
			{ name: "Bytes", get: (row) => bytes(row.total_bytes), sort: (row) => row.total_bytes, num: true },
			{ name: "Total", get: (row) => ns(row.total_ns), sort: (row) => row.total_ns, num: true },
			{ name: "A second", get: (row) => (row.total_ns ? bytes(row.total_bytes / (row.total_ns / 1e9)) : "\u2013"), sort: (row) => row.total_bytes / Math.max(row.total_ns, 1), num: true },
		], copies.groups)];
}

function gpuSection(id, summary, sources, extra) {
	const source = (name) => sources.find((entry) => entry.name === name) || { reason: "absent" };
	const part = (name, title, value, make) => [el("h3", {}, title), value ? make(value) : el("p", { class: "missing" }, "not available: ", missing(source(name)))];
	const any = summary.gpu || summary.cuda_kernels || summary.cuda_copies;
	if (!any && ["cuda_kernels", "cuda_copies"].every((name) => source(name).reason === "not_cuda")) {
		return section(id, "GPU", null, el("p", { class: "missing" }, "The process uses no CUDA."));
	}
	return section(id, "GPU", null, part("gpu", "Health", summary.gpu, (gpu) => gpu.devices.map(deviceCard)), part("cuda_kernels", "Kernels", summary.cuda_kernels, (kernels) => kernelsPart(kernels, extra)),
		part("cuda_copies", "Copies", summary.cuda_copies, copiesPart));
}

function sourcesSection(id, sources, cost) {
	return section(id, "Sources", cost && "What the window cost the target: " + costText(cost), table("One window, every side", [
		{ name: "Source", get: (source) => words(source.name) },
		{ name: "", get: (source) => chip(source.status, source.status === "available" ? "good" : "warn") },
		{ name: "Why", wide: true, get: (source) => [missing(source), source.call && el("span", { class: "dim" }, ` ${source.call}${source.errno ? " = " + source.errno : ""}`),
			source.issues && source.issues.length > 0 && notes(source.issues)] },
		{ name: "File", get: (source) => source.artifact && el("code", {}, source.artifact.path) },
		{ name: "Size", num: true, get: (source) => source.artifact && bytes(source.artifact.bytes) },
	], sources));
}

// One part that cannot be shown must not take the others with it.
function safely(make) {
	try {
		return make();
	} catch (problem) {
		console.error(problem);
		return el("section", {}, el("p", { class: "missing" }, "This part could not be shown: ", problem.message));
	}
}

// The parts of one process; `prefix` keeps ids apart.
function windowSections(prefix, process, extra, windowNs) {
	const summary = process.summary || {}, sources = process.sources || [];
	const unavailable = (name, id, title) => {
		const source = sources.find((entry) => entry.name === name);
		return source && source.status !== "available" && section(prefix + id, title, null, el("p", { class: "missing" }, "not available: ", missing(source)));
	};
	return [
		() => (summary.threads ? threadsSection(prefix + "threads", summary.threads, extra, windowNs) : unavailable("threads", "threads", "Where the threads' time went")),
		() => (summary.cpu_samples ? cpuSection(prefix + "cpu", summary.cpu_samples, extra) : unavailable("cpu_samples", "cpu", "Who ran on the CPUs")),
		() => (summary.off_cpu ? blockedSection(prefix + "blocked", summary.off_cpu, extra) : unavailable("off_cpu", "blocked", "Who waited, and where")),
		() => (summary.syscalls ? syscallsSection(prefix + "syscalls", summary.syscalls, extra, windowNs) : unavailable("syscalls", "syscalls", "System calls")),
		() => summary.cgroup && cgroupSection(prefix + "cgroup", summary.cgroup),
		() => sources.length > 0 && gpuSection(prefix + "gpu", summary, sources, extra),
		() => sources.length > 0 && sourcesSection(prefix + "sources", sources, process.cost),
	].map(safely);
}

// The result's own list has the commands; a process' findings are among them, as far as that list goes.
function commandsOf(findings, page) {
	const same = (a, b) => a.pid === b.pid && a.code === b.code && a.subject === b.subject;
	return findings.map((finding) => page.commands[page.document.findings.findIndex((other) => same(finding, other))] || null);
}

function processSection(process, i, page) {
	const pid = process.target.pid, best = (process.findings || [])[0], extra = page.processes.find((entry) => entry.pid === pid);
	return el("details", { class: "process", id: "pid-" + pid, open: i === 0 },
		el("summary", {}, el("b", {}, base(process.executable || "process"), " ", pid), " ", chip(process.status, process.status === "completed" ? "good" : "warn"),
			best ? ` ${best.window_share === null ? "" : percent(best.window_share) + " "}${words(best.code)}: ${clean(best.subject)}` : " nothing found"),
		findingsSection(`pid-${pid}-findings`, process.findings || [], 0, commandsOf(process.findings || [], page), page, false), windowSections(`pid-${pid}-`, process, extra, page.document.window.duration_ns));
}

function oddSection(odd) {
	return section("odd", "The odd one out", null, odd.length ? table("Processes that differ from the others", [
		{ name: "Metric", get: (row) => words(row.metric) }, { name: "Process", get: (row) => (given(row.pid) ? row.pid : "either") },
		{ name: "Value", num: true, get: (row) => evidenceValue(row.metric, row.value) }, { name: "Median", num: true, get: (row) => evidenceValue(row.metric, row.median) },
		{ name: "Of the window", num: true, get: (row) => percent(row.window_share) },
	], odd) : el("p", {}, "No process differs from the others."));
}

function triagePage(page) {
	const doc = page.document, several = Array.isArray(doc.processes), pid = doc.target && doc.target.pid;
	const main = !several && page.processes[0] && (page.processes[0].threads || []).find((thread) => thread.tid === pid);
	const title = doc.name || (several ? plural(doc.processes.length, "process", "processes") : main ? main.name : `process ${pid}`), best = doc.findings[0];
	document.title = clean((best ? `${best.window_share === null ? "" : percent(best.window_share) + " "}${words(best.code)}, ` : "") + title + " - xprobe triage");
	return [
		headOf("triage", title, [pid && `pid ${pid}`, `window ${ns(doc.window.duration_ns)}`, words(doc.status)], verdictChip(doc.quality)),
		safely(() => findingsSection("findings", doc.findings, doc.findings_total, page.commands, page, several)),
		several && doc.odd_one_out && safely(() => oddSection(doc.odd_one_out)),
		several ? section("processes", "Process by process", doc.processes_total > doc.processes.length ? `${doc.processes.length} of ${doc.processes_total}` : null,
			doc.processes.map((process, i) => safely(() => processSection(process, i, page)))) : windowSections("", doc, page.processes[0], doc.window.duration_ns),
		safely(() => trustSection("trust", several ? doc : { ...doc, cost: null })),
		doc.evidence.artifact && section("files", "Files", null, el("p", {}, "Everything the sources saw: ", el("code", {}, doc.evidence.artifact.path))),
	];
}

// Light, dark, or what the system says. Pages from a file may have no storage.
function themeButton() {
	const names = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" }, order = Object.keys(names);
	const store = (value) => { try { localStorage.setItem("xprobe-theme", value); } catch { /* for this visit only */ } };
	let now = "auto";
	try { now = localStorage.getItem("xprobe-theme") || now; } catch { /* none kept */ }
	const button = el("button", { type: "button", id: "theme", onclick: () => { now = order[(order.indexOf(now) + 1) % 3]; store(now); show(); } });
	const show = () => {
		document.documentElement.dataset.theme = now;
		button.textContent = names[now] || names.auto;
	};
	show();
	return button;
}

function start() {
	const source = document.getElementById("data").textContent, page = JSON.parse(source), root = document.getElementById("page");
	root.append(...(page.kind === "graph" ? graphPage(page) : triagePage(page)).flat(3).filter(Boolean));
	const links = [...root.querySelectorAll(":scope > section")].map((part) => el("a", { href: "#" + part.id }, part.querySelector("h2").textContent));
	root.querySelector("header").append(el("nav", { "aria-label": "Sections" }, links), themeButton());
	root.append(el("footer", {}, `xprobe ${page.xprobe} \u00b7 session ${page.document.session_id} \u00b7 ${bytes(source.length)} of data, all of it in this file`));
	document.addEventListener("keydown", (event) => {
		const first = document.querySelector(".flame input[type=search]");
		if (event.key === "/" && first && !event.target.matches("input, textarea, .box")) {
			event.preventDefault();
			first.focus();
		}
	});
}

start();
