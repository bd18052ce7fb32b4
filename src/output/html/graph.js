// The page of a measured graph: one line an edge, against the slowest p99 of all.

function edgeBar(latency, full) {
	return stacked([[latency.p50 / full, "hot", "to p50: " + ns(latency.p50)], [(latency.p99 - latency.p50) / full, "queue", "to p99: " + ns(latency.p99)]]);
}

function edgeDetails(edge, selectors) {
	return el("details", { class: "edge", "data-edge": edge.name }, el("summary", {}, el("b", {}, edge.name), " ", verdictChip(edge.quality)),
		el("dl", { class: "evidence" }, [
			["from", [edge.start, selectors && el("code", {}, selectors[0])]], ["to", [edge.end, selectors && el("code", {}, selectors[1])]],
			["policy", words(edge.match_policy)], ["pairs", count(edge.samples.matched)], ["starts without an end", count(edge.samples.unmatched_start)],
			["ends without a start", count(edge.samples.unmatched_end)], ["ambiguous", count(edge.samples.ambiguous)],
		].map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, [value].flat().map((part) => [part, " "]))))),
		edge.quality.issues.length > 0 && notes(edge.quality.issues),
		edge.exemplars.length > 0 && table("Pairs that stand for a rank", [
			{ name: "Rank", get: (row) => row.rank }, { name: "Latency", get: (row) => ns(row.latency_ns), num: true },
			{ name: "Start", get: (row) => row.start_event_id }, { name: "End", get: (row) => row.end_event_id },
		], edge.exemplars));
}

function graphPage(page) {
	const doc = page.document, measured = doc.edges.filter((edge) => edge.latency_ns), full = Math.max(1, ...measured.map((edge) => edge.latency_ns.p99));
	const column = (name, key) => ({ name, num: true, get: (edge) => (edge.latency_ns ? ns(edge.latency_ns[key]) : "\u2013"), sort: (edge) => (edge.latency_ns ? edge.latency_ns[key] : -1) });
	document.title = `xprobe graph: ${doc.name || "without a name"}`;
	return [
		headOf("graph", doc.name || "Measurement graph", [doc.target && `pid ${doc.target.pid}`, `window ${ns(doc.collection.window_ns)}`, doc.status, plural(doc.edges.length, "edge") + " of one capture"], verdictChip(doc.quality)),
		section("edges", "Latencies", "Bars end at p99; the dark part ends at p50. Edges are paired one by one, never joined into chains.",
			el("p", { class: "legend" }, el("span", {}, el("i", { class: "swatch hot" }), "to p50"), el("span", {}, el("i", { class: "swatch queue" }), "to p99")),
			table("Edges of the graph", [
				{ name: "Edge", get: (edge) => edge.name, sort: (edge) => edge.name },
				{ name: "", get: (edge) => (edge.latency_ns ? edgeBar(edge.latency_ns, full) : "no pair"), wide: true },
				{ name: "Pairs", num: true, get: (edge) => count(edge.samples.matched), sort: (edge) => edge.samples.matched },
				column("p50", "p50"), column("p90", "p90"), column("p99", "p99"), column("max", "max"),
			], doc.edges),
			doc.edges.map((edge, i) => edgeDetails(edge, page.selectors && page.selectors[i]))),
		trustSection("trust", doc),
		doc.evidence.artifact && section("files", "Files", null, el("p", {}, "The whole capture: ", el("code", {}, doc.evidence.artifact.path))),
	];
}
