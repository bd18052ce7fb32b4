// Elements, text and units. Whatever a target supplied reaches the page through text() alone, as text.

// Control and direction characters could make one name look like another.
const clean = (value) => String(value).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\ufffd");
const text = (value) => document.createTextNode(clean(value));

// el("td", { class: "num", title: "..." }, "text", element, [more]): null and false children are left out.
function el(name, attributes, ...children) {
	const element = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key.startsWith("on")) {
			element.addEventListener(key.slice(2), value);
		} else if (value !== null && value !== undefined && value !== false) {
			element.setAttribute(key, value === true ? "" : clean(value));
		}
	}
	for (const child of children.flat(9)) {
		if (child !== null && child !== undefined && child !== false) {
			element.append(child instanceof Node ? child : text(child));
		}
	}
	return element;
}

const scaled = (value, step, units, first) => {
	let i = 0;
	while (i + 1 < units.length && value >= step) {
		value /= step;
		i++;
	}
	return (i === 0 ? Number(value.toFixed(first)) : value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2)) + " " + units[i];
};
const given = (value) => value !== null && value !== undefined;
const unless = (show) => (value) => (given(value) ? show(value) : "\u2013");
const ns = unless((value) => scaled(value, 1000, ["ns", "\u00b5s", "ms", "s"], 0));
const bytes = unless((value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"], 0));
const percent = unless((share) => (share > 0 && share < 0.0005 ? "<0.1%" : (share * 100).toFixed(share > 0 && share < 0.0995 ? 1 : 0) + "%"));
const count = unless((value) => {
	const digits = String(Math.trunc(value));
	return digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits;
});
const real = unless((value) => (Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3)))));
const words = (key) => key.replace(/_/g, " ");
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;
const base = (path) => String(path).replace(/^.*\//, "");

// A share as a bar; the number stands beside it for everybody.
function bar(share, kind) {
	const fill = el("span", { class: "fill " + (kind || "") });
	fill.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
	return el("span", { class: "bar", "aria-hidden": "true" }, fill);
}

// Parts side by side: [[share, class, title]...]
function stacked(parts) {
	const outer = el("span", { class: "bar stacked", "aria-hidden": "true" });
	for (const [share, kind, title] of parts) {
		if (share > 0) {
			const fill = el("span", { class: "fill " + kind, title });
			fill.style.width = Math.min(1, share) * 100 + "%";
			outer.append(fill);
		}
	}
	return outer;
}

// Clipboard where the browser gives it, else by selection: pages from a file have no clipboard in some browsers.
async function copy(value) {
	try {
		await navigator.clipboard.writeText(value);
		return true;
	} catch {
		const area = el("textarea", { class: "away", "aria-hidden": "true" });
		area.value = value;
		document.body.append(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		return done;
	}
}

function copyButton(value, label) {
	const button = el("button", {
		type: "button", class: "copy",
		onclick: async () => {
			button.textContent = (await copy(value)) ? "Copied" : "Select and copy";
			setTimeout(() => { button.textContent = label; }, 1500);
		},
	}, label);
	return button;
}

const pasteBox = (command) => el("div", { class: "paste" }, el("code", { tabindex: "0" }, command), copyButton(command, "Copy"));

// Columns: { name, get(row) -> shown, sort(row) -> number or text, num: right-aligned, wide }. Largest first by `first`.
function table(caption, columns, rows, limit) {
	const body = el("tbody");
	const state = { column: null, down: true, all: false };
	const draw = () => {
		const sorted = state.column ? [...rows].sort((a, b) => {
			const [x, y] = [state.column.sort(a), state.column.sort(b)];
			return (x < y ? -1 : x > y ? 1 : 0) * (state.down ? -1 : 1);
		}) : rows;
		body.replaceChildren(...sorted.slice(0, state.all || !limit ? undefined : limit).map((row) => el("tr", {},
			columns.map((column) => el("td", { class: [column.num && "num", column.wide && "wide"].filter(Boolean).join(" ") || null }, column.get(row))))));
	};
	const heads = columns.map((column) => {
		const button = column.sort && rows.length > 1 && el("button", {
			type: "button",
			onclick: () => {
				state.down = state.column === column ? !state.down : Boolean(column.num);
				state.column = column;
				heads.forEach((head) => head.removeAttribute("aria-sort"));
				head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
				draw();
			},
		}, column.name);
		const head = el("th", { scope: "col", class: column.num ? "num" : null }, button || column.name);
		return head;
	});
	draw();
	const more = limit && rows.length > limit && el("button", {
		type: "button", class: "more",
		onclick: () => { state.all = true; draw(); more.remove(); },
	}, `Show all ${count(rows.length)}`);
	return el("div", { class: "scroll" }, el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, heads)), body), more);
}
