// A flame graph: callers above callees, the width of a box is its share. Search, zoom, tooltip, keys.

const ROW = 19;
const THINNEST = 0.0006; // of the width: thinner boxes are drawn when one zooms in

// Flat arrays by node; node 0 is everything.
function readFlame(data, label) {
	const flame = { text: [label], kind: ["all"], file: [null], depth: [0], value: [data.total], start: [0], parent: [-1], end: [], own: [data.total] };
	const open = [0]; // the newest node of each depth
	const filled = [0];
	for (let i = 0; i < data.nodes.length; i += 3) {
		const [name, depth, value] = [data.names[data.nodes[i]], data.nodes[i + 1] + 1, data.nodes[i + 2]];
		const node = flame.text.length, parent = open[depth - 1];
		flame.text.push(name[0]);
		flame.kind.push(name[1]);
		flame.file.push(name[2] || null);
		flame.depth.push(depth);
		flame.value.push(value);
		flame.own.push(value);
		flame.start.push(flame.start[parent] + filled[parent]);
		flame.parent.push(parent);
		flame.own[parent] -= value;
		filled[parent] += value;
		filled.push(0);
		open[depth] = node;
	}
	for (let node = flame.text.length - 1; node >= 0; node--) {
		flame.end[node] = Math.max(flame.end[node] || 0, node + 1);
		if (node) {
			flame.end[flame.parent[node]] = Math.max(flame.end[flame.parent[node]] || 0, flame.end[node]);
		}
	}
	return flame;
}

// Nodes whose name or file holds the words, and the share that they cover together: a match inside a match counts once.
function searchFlame(flame, query) {
	const hits = new Set(), wanted = query.toLowerCase();
	let covered = 0, until = 0;
	for (let node = 1; wanted && node < flame.text.length; node++) {
		if (!flame.text[node].toLowerCase().includes(wanted) && !(flame.file[node] || "").toLowerCase().includes(wanted)) {
			continue;
		}
		hits.add(node);
		if (node >= until) {
			covered += flame.value[node];
			until = flame.end[node];
		}
	}
	return { hits, share: flame.value[0] ? covered / flame.value[0] : 0 };
}

const shade = (name) => [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 1009, 7) % 3;

class Flame {
	// unit: value -> text. id: prefix of ids on this page.
	constructor(data, { id, label, all, unit }) {
		this.flame = readFlame(data, all);
		this.unit = unit;
		this.zoomed = 0;
		this.focused = 0;
		this.hits = new Set();
		this.boxes = new Map();
		this.canvas = el("div", { class: "boxes", role: "tree", "aria-label": label, "aria-describedby": id + "-keys" });
		this.tip = el("div", { class: "tip", role: "status", hidden: true });
		this.found = el("span", { class: "found", role: "status" });
		this.search = el("input", { type: "search", id: id + "-search", placeholder: "Search functions", "aria-label": "Search in " + label, spellcheck: "false" });
		this.reset = el("button", { type: "button", class: "reset", disabled: true }, "Reset zoom");
		this.node = el("div", { class: "flame", id },
			el("div", { class: "tools" }, this.search, this.reset, this.found),
			el("div", { class: "frame-scroll" }, this.canvas), this.tip,
			el("p", { class: "hint", id: id + "-keys" }, this.legend(), el("span", { class: "keys" },
				"Click zooms. Keys: arrows move, Enter zooms, Esc resets, / searches.")),
			data.left_out > 0 && el("p", { class: "hint" }, `${plural(data.left_out, "box", "boxes")} of thin branches are left out; their share is their callers' own.`));
		this.listen();
		this.draw();
	}

	legend() {
		const names = { native: "native", python: "Python", kernel: "kernel", jit: "JIT", unknown: "unknown", threads: "threads", wait: "waits in" };
		return el("span", { class: "legend" }, Object.keys(names).filter((kind) => this.flame.kind.includes(kind)).map((kind) =>
			el("span", {}, el("i", { class: "swatch k-" + kind, "aria-hidden": "true" }), names[kind])));
	}

	share(node) {
		return this.flame.value[0] ? this.flame.value[node] / this.flame.value[0] : 0;
	}

	describe(node) {
		const { value, own, text: name } = this.flame;
		return `${name[node]}: ${percent(this.share(node))}, ${this.unit(value[node])}` + (own[node] && own[node] !== value[node] ? `, of these ${this.unit(own[node])} itself` : "");
	}

	// Ancestors of the zoomed box keep the whole width; of its callees those that can be seen are drawn.
	visible() {
		const { value, start, end, parent, depth } = this.flame, zoomed = this.zoomed, list = [];
		for (let node = zoomed; node >= 0; node = parent[node]) {
			list.unshift([node, 0, 1]);
		}
		const thinnest = value[zoomed] * THINNEST;
		for (let node = zoomed + 1; node < end[zoomed]; node++) {
			if (value[node] < thinnest) {
				node = end[node] - 1;
				continue;
			}
			list.push([node, (start[node] - start[zoomed]) / value[zoomed], value[node] / value[zoomed]]);
		}
		return { list, rows: list.reduce((most, [node]) => Math.max(most, depth[node] + 1), 1) };
	}

	draw() {
		const { list, rows } = this.visible(), { depth, kind, text: name } = this.flame;
		this.boxes.clear();
		this.canvas.replaceChildren(...list.map(([node, left, width]) => {
			const box = el("div", {
				class: `box k-${kind[node]} s${shade(name[node])}` + (node < this.zoomed && this.flame.end[node] > this.zoomed ? " above" : ""),
				role: "treeitem", tabindex: "-1", "data-node": node, "aria-level": depth[node] + 1, "aria-label": this.describe(node),
			}, name[node]);
			box.style.left = left * 100 + "%";
			box.style.width = width * 100 + "%";
			box.style.top = depth[node] * ROW + "px";
			this.boxes.set(node, box);
			return box;
		}));
		this.canvas.style.height = rows * ROW + "px";
		this.reset.disabled = this.zoomed === 0;
		this.mark();
		this.focus(this.boxes.has(this.focused) ? this.focused : this.zoomed, false);
	}

	mark() {
		this.canvas.classList.toggle("searching", this.hits.size > 0);
		for (const [node, box] of this.boxes) {
			box.classList.toggle("hit", this.hits.has(node));
		}
	}

	find(query) {
		const { hits, share } = searchFlame(this.flame, query);
		this.hits = hits;
		this.found.textContent = !query ? "" : hits.size ? `${percent(share)} in ${plural(hits.size, "box", "boxes")}` : "not found";
		this.mark();
	}

	zoom(node) {
		this.zoomed = node;
		this.hideTip();
		this.draw();
	}

	focus(node, really = true) {
		const before = this.boxes.get(this.focused);
		if (before) {
			before.tabIndex = -1;
		}
		this.focused = node;
		const box = this.boxes.get(node);
		box.tabIndex = 0;
		if (really) {
			box.focus();
		}
	}

	// Down: the heaviest callee. Left and right: the next box of the row.
	neighbour(key) {
		const { depth, parent } = this.flame, nodes = [...this.boxes.keys()].sort((a, b) => a - b);
		const at = this.focused, row = nodes.filter((node) => depth[node] === depth[at]);
		switch (key) {
		case "ArrowUp": return parent[at];
		case "ArrowDown": return nodes.find((node) => parent[node] === at);
		case "ArrowLeft": return row[row.indexOf(at) - 1];
		case "ArrowRight": return row[row.indexOf(at) + 1];
		case "Home": return 0;
		}
		return undefined;
	}

	onKey(event) {
		if (event.key === "Enter" || event.key === " ") {
			this.zoom(this.focused);
			this.focus(this.focused);
		} else if (event.key === "Escape") {
			this.zoom(0);
			this.focus(0);
		} else if (event.key === "/") {
			this.search.focus();
		} else {
			const next = this.neighbour(event.key);
			if (next === undefined && !event.key.startsWith("Arrow")) {
				return;
			}
			if (next !== undefined && next >= 0) {
				this.focus(next);
			}
		}
		event.preventDefault();
	}

	showTip(node, x, y) {
		const { value, own, file, kind, parent, text: name } = this.flame, up = parent[node];
		this.tip.replaceChildren(...[
			el("strong", {}, name[node]),
			file[node] && el("div", { class: "file" }, file[node]),
			el("div", {}, `${percent(this.share(node))} of all, ${this.unit(value[node])}`),
			up > 0 && el("div", {}, `${percent(value[node] / value[up])} of ${name[up]}`),
			own[node] > 0 && kind[node] !== "wait" && el("div", {}, `itself ${this.unit(own[node])}`),
		].filter(Boolean));
		this.tip.hidden = false;
		const area = this.node.getBoundingClientRect(), size = this.tip.getBoundingClientRect();
		this.tip.style.left = Math.max(0, Math.min(x - area.left + 12, area.width - size.width)) + "px";
		this.tip.style.top = y - area.top + 18 + "px";
	}

	hideTip() {
		this.tip.hidden = true;
	}

	listen() {
		const nodeOf = (event) => (event.target.dataset && event.target.dataset.node !== undefined ? Number(event.target.dataset.node) : null);
		this.search.addEventListener("input", () => this.find(this.search.value.trim()));
		this.search.addEventListener("keydown", (event) => {
			if (event.key === "Escape") {
				this.search.value = "";
				this.find("");
			}
		});
		this.reset.addEventListener("click", () => this.zoom(0));
		this.canvas.addEventListener("click", (event) => {
			const node = nodeOf(event);
			if (node !== null) {
				this.focus(node, false);
				this.zoom(node);
				this.focus(node);
			}
		});
		this.canvas.addEventListener("keydown", (event) => this.onKey(event));
		this.canvas.addEventListener("mousemove", (event) => {
			const node = nodeOf(event);
			if (node !== null) {
				this.showTip(node, event.clientX, event.clientY);
			}
		});
		this.canvas.addEventListener("mouseleave", () => this.hideTip());
		this.canvas.addEventListener("focusin", (event) => {
			const node = nodeOf(event), place = event.target.getBoundingClientRect();
			if (node !== null && node !== this.focused) {
				this.focus(node, false);
			}
			if (node !== null && event.target.matches(":focus-visible")) {
				this.showTip(node, place.left, place.top);
			}
		});
		this.canvas.addEventListener("focusout", () => this.hideTip());
	}
}
