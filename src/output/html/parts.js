// Sections that triage and graph share: verdict, warnings, cost, evidence in numbers.

function section(id, title, lead, ...content) {
	return el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), lead && el("p", { class: "lead" }, lead), content);
}

const chip = (label, kind) => el("span", { class: "chip " + (kind || "") }, label);
const verdictChip = (quality) => chip(quality.verdict === "good" ? "verdict: good" : "verdict: caution", quality.verdict === "good" ? "good" : "warn");

function notes(list) {
	return el("ul", { class: "notes" }, list.map((note) => el("li", { class: note.severity || null }, el("code", {}, note.code), " ", note.message)));
}

function costText(cost) {
	if (!cost) {
		return null;
	}
	return [plural(cost.probe_events, "probe hit"), cost.probe_floor_ns ? ` of about ${ns(cost.probe_floor_ns)}` : "",
		given(cost.cpu_share) ? `, ${(cost.cpu_share * 100).toFixed(2)}% of the target's CPU time` : "",
		cost.limit > 0 ? ` (limit ${(cost.limit * 100).toFixed(1)}%${cost.limit_reached ? ", reached" : ""})` : ""].join("");
}

// How far one may trust the page, and what it cannot answer.
function trustSection(id, doc) {
	const issues = doc.quality ? doc.quality.issues : [], told = new Set(issues.map((issue) => issue.code.toUpperCase()));
	const warnings = (doc.warnings || []).filter((warning) => !told.has(warning.code));
	return section(id, "How far to trust this", null,
		doc.quality && el("p", {}, verdictChip(doc.quality)),
		issues.length > 0 && notes(issues),
		warnings.length > 0 && [el("h3", {}, "Warnings"), notes(warnings)],
		doc.cost && el("p", {}, el("strong", {}, "Cost to the target: "), costText(doc.cost)),
		doc.not_covered && [el("h3", {}, "What this cannot answer"), notes(doc.not_covered)]);
}

// A value of a finding's evidence by what its name says of it.
function evidenceValue(key, value) {
	if (!given(value)) {
		return "not known";
	}
	if (typeof value === "number") {
		return /(^|_)(pid|tid)$/.test(key) ? String(value) : key.endsWith("_ns") ? ns(value) : /share|proportion|utilization/.test(key) ? percent(value) : /bytes|memory/.test(key) ? bytes(value) : real(value);
	}
	if (Array.isArray(value)) {
		if (value.every((item) => item === null || typeof item !== "object")) {
			return key === "stack" ? el("span", { class: "stack" }, value.join(" \u2190 ")) : value.join(", ");
		}
		return el("ul", {}, value.map((item) => el("li", {}, evidencePairs(item))));
	}
	return typeof value === "object" ? evidencePairs(value) : typeof value === "boolean" ? (value ? "yes" : "no") : value;
}

// "stack_ns" beside "stack" is its time.
function evidenceName(key, object) {
	const short = key.replace(/_ns$/, "");
	return words(short !== key && short in object ? short + " time" : short);
}

const evidencePairs = (object) => Object.entries(object).map(([key, value], i) => [i ? ", " : "", evidenceName(key, object), " ", evidenceValue(key, value)]);

function evidenceList(evidence) {
	const entries = Object.entries(evidence || {}).filter(([, value]) => value !== null && !(Array.isArray(value) && !value.length));
	return entries.length > 0 && el("dl", { class: "evidence" }, entries.map(([key, value]) =>
		el("div", {}, el("dt", {}, evidenceName(key, evidence)), el("dd", {}, evidenceValue(key, value)))));
}

// What a reader can't see at a glance in the head.
function headOf(kind, title, parts, chips) {
	return el("header", {}, el("p", { class: "kind" }, "xprobe " + kind), el("h1", {}, title), el("p", { class: "facts" }, parts.filter(Boolean).join(" \u00b7 "), " ", chips));
}
