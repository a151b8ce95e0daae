"use strict";
// The page's own script: draws the figures as they come into view, follows light and dark, and
// filters, sorts and copies the tables. These need not wait for plotly, which is unpacked last.

// Plotly tries out what a browser can do by errors, whose traces would take a second of its start.
Error.stackTraceLimit = 0;

const root = document.documentElement;
const figures = JSON.parse(document.getElementById("figures").textContent);
const settings = {
  displaylogo: false,
  showSendToCloud: false,  // the page works offline, and its data stay in it
  // Without a pointer that hovers the buttons would stay, over the marks.
  displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
};
const drawn = new Set();

function paint(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

// Names of variables may take so much of the width, so that bars have room; they are cut beyond.
const LETTER = 6.5, ROOM = 0.43;

function shortened(axis, width) {
  const most = Math.max(16, Math.floor((ROOM * width) / LETTER));
  const cut = (text) => {
    const letters = text.match(/&\w+;|./gsu) ?? [];  // the text is escaped: &lt; is one letter
    if (letters.length <= most) return text;
    const half = Math.floor(most / 2);
    return [...letters.slice(0, half), "\u2026", ...letters.slice(1 - half)].join("");
  };
  return axis?.ticktext ? { ...axis, ticktext: axis.ticktext.map(cut) } : axis;
}

function themed(layout, width) {
  const ink = paint("ink"), line = paint("line"), panel = paint("panel"), quiet = paint("quiet");
  const font = { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink };
  const result = { ...layout, font };
  result.hoverlabel = { bgcolor: panel, bordercolor: quiet, font, align: "left" };
  result.modebar = { bgcolor: panel, color: quiet, activecolor: ink };
  const lines = { gridcolor: line, zerolinecolor: quiet, linecolor: line };
  for (const axis of ["xaxis", "xaxis2", "xaxis3", "yaxis"])
    if (layout[axis]) result[axis] = { ...layout[axis], ...lines };
  if (result.yaxis) result.yaxis = shortened(result.yaxis, width);
  if (matchMedia("(pointer: coarse)").matches) result.dragmode = false;
  return result;
}

// All samples in one picture, coloured by a column; of those drawn, and of all that are searched.
const clouds = {};
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// A thin edge around a mark, dark in light and light in dark, so that pale colours can be seen.
const outline = () => ({ width: 0.7, color: paint("quiet") });
const outlined = (trace) => !(trace.mode?.includes("markers") || trace.type === "bar") || !trace.marker ? trace
  : { ...trace, marker: { ...trace.marker, line: { ...outline(), ...trace.marker.line } } };

// More clusters than this have colours that are hard to tell apart: their names stand amid them.
const NUMBERED = 6;
// More samples than this hide one another.
const CROWDED = 1000;

function numbers(levels, values, x, y) {
  const middle = (of, level) => {
    const own = of.filter((_, i) => values[i] === level).sort((a, b) => a - b);
    return own[own.length >> 1];
  };
  return {
    type: "scatter", mode: "text", hoverinfo: "skip", showlegend: false,
    x: levels.map((_, level) => middle(x, level)), y: levels.map((_, level) => middle(y, level)),
    text: levels.map(({ name }) => `<b>${escaped(name.replace(/^cluster /, ""))}</b>`),
    textfont: { size: 18, color: paint("ink"), shadow: [1, -1].map((d) => `${d}px ${d}px 2px ${paint("panel")}, ${d}px ${-d}px 2px ${paint("panel")}`).join(", ") },
  };
}

function cloud(place, meta) {
  const { x, y, names, columns, unsure } = meta;
  const { by = 0, wanted = [] } = clouds[place.id] ?? {};
  const told = (column, i) => column.levels ? (column.levels[column.values[i]]?.name ?? "none") : column.values[i] ?? "not known";
  const words = (i) => [`<b>${escaped(names[i])}</b>`, ...columns.map((each) => `${escaped(each.name)}: ${escaped(String(told(each, i)))}`)].join("<br>");
  const line = outline();
  const trace = (rows, marker, more) => ({
    type: "scatter", mode: "markers", x: rows.map((i) => x[i]), y: rows.map((i) => y[i]),
    text: rows.map(words), hovertemplate: "%{text}<extra></extra>",
    marker: { size: 8, opacity: wanted.length ? 0.2 : 1, line, ...marker }, ...more,
  });
  const { levels, values, name } = columns[by];
  const drawn = [...new Set([...meta.drawn, ...wanted])];
  const traces = [];
  if (levels) {
    const groups = levels.map(() => []), none = [];
    for (const i of drawn) (groups[values[i]] ?? none).push(i);
    // Of many samples the clusters are drawn in turns, so that none lies on top of all others.
    const turns = drawn.length > CROWDED ? 8 : 1;
    for (let turn = 0; turn < turns; turn++)
      groups.forEach((rows, level) => {
        const own = rows.filter((_, i) => i % turns === turn), { color, symbol } = levels[level], name = escaped(levels[level].name);
        traces.push(trace(own, { color, symbol }, { name, legendgroup: name, showlegend: turn === 0 }));
      });
    if (none.length) traces.push(trace(none, { color: "#888888", symbol: "x" }, { name: "none" }));
  } else {
    const colorbar = { thickness: 10, outlinewidth: 0, len: 0.7, title: { text: escaped(name) } };
    const marker = { color: drawn.map((i) => values[i]), colorscale: meta.scale, colorbar, showscale: true };
    traces.push(trace(drawn, marker, { showlegend: false, name: escaped(name) }));
  }
  if (by === 0 && levels.length > NUMBERED) traces.push(numbers(levels, values, x, y));
  const ring = (rows, size, width, more) => trace(rows, { size, opacity: 1, color: paint("ink"), symbol: "circle-open", line: { width } }, more);
  const open = unsure.filter((i) => drawn.includes(i));
  if (open.length) traces.push(ring(open, 14, 1.2, { name: "uncertain", hoverinfo: "skip", hovertemplate: null }));
  if (wanted.length) {
    const named = { mode: "markers+text", textposition: "top center", text: wanted.map((i) => escaped(names[i])), hovertext: wanted.map(words), hovertemplate: "%{hovertext}<extra></extra>" };
    traces.push(ring(wanted, 17, 2.5, { name: "found", ...(wanted.length <= 8 ? named : {}) }));
  }
  return traces;
}

// The names of samples and variables that a heat map tells, once for all its cells.
const told = (trace, samples) => ({
  ...trace,
  customdata: trace.y.map(() => samples),
  text: trace.text ?? trace.meta.map((name) => samples.map(() => name)),
});

function content(place) {
  const { data, layout } = figures[place.dataset.figure];
  if (layout.meta?.columns) return cloud(place, layout.meta);
  return layout.meta?.samples ? data.map((trace) => told(trace, layout.meta.samples)) : data.map(outlined);
}

function draw(place) {
  if (!window.Plotly) return;  // once plotly is there, it draws all that is in view
  const { layout } = figures[place.dataset.figure], data = content(place);
  drawn.add(place);
  fitting.observe(place);
  const width = place.clientWidth;
  Plotly.react(place, data, { ...themed(layout, width), width }, settings);
  place.querySelector(".still")?.remove();
  // A card for each cluster would put hundreds of buttons between the keyboard and the tables.
  if (place.closest(".card"))
    for (const button of place.querySelectorAll(".modebar-btn")) button.tabIndex = -1;
  performance.mark(`drawn ${place.id}`);
}

// Draw again what has got another width: a window resized, a phone turned, a scroll bar.
const fitting = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const width = target.clientWidth;
    if (width && target.layout && target.layout.width !== width) draw(target);
  }
});

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    setTimeout(draw, 0, target);  // one at a time, so that the first is seen at once
  }
}, { rootMargin: "400px" });
const places = document.querySelectorAll("[data-figure]");

async function unpack() {
  const packed = await fetch(`data:;base64,${document.getElementById("plotly").textContent}`);
  const stream = packed.body.pipeThrough(new DecompressionStream("deflate"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  for (const place of places) seen.observe(place);
}
// Words, tables and the still picture of all samples come first.
(window.requestIdleCallback ?? setTimeout)(unpack, { timeout: 500 });

const repaint = () => drawn.forEach(draw);
// Paper is narrower than most windows. A body of this width, in pixels, makes figures that fit it.
addEventListener("beforeprint", () => {
  document.body.style.width = "770px";
  // A figure that is folded away has no size to be drawn in.
  for (const place of places) if (place.offsetWidth) draw(place);
});
addEventListener("afterprint", () => { document.body.style.width = ""; });

// A link to a section that is folded away unfolds it.
for (const link of document.querySelectorAll("a[href^='#']"))
  link.addEventListener("click", () => {
    const folded = document.querySelector(`${link.hash} > details`);
    if (folded) folded.open = true;
  });

// Light and dark: as the system has it until the button says otherwise.
const dark = matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
function label() {
  button.textContent = isDark() ? "Light colours" : "Dark colours";
  repaint();
}
try {
  const kept = localStorage.getItem("subspaces-theme");
  if (kept) root.dataset.theme = kept;
} catch { /* a browser without storage forgets the choice */ }
button.hidden = false;
button.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("subspaces-theme", root.dataset.theme); } catch { /* forgets */ }
  label();
});
dark.addEventListener("change", label);
label();

// Buttons that show one of several figures in the same place.
for (const group of document.querySelectorAll("[data-choice]")) {
  const buttons = [...group.querySelectorAll("[data-show]")];
  group.hidden = false;
  for (const chosen of buttons)
    chosen.addEventListener("click", () => {
      const place = document.getElementById(chosen.getAttribute("aria-controls"));
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === chosen));
      place.dataset.figure = chosen.dataset.show;
      draw(place);
    });
}

// The picture of all samples: what its colours show, and a sample to find.
for (const box of document.querySelectorAll("[data-cloud]")) {
  const place = document.getElementById(box.dataset.cloud), { names } = figures[box.dataset.cloud].layout.meta;
  const choice = box.querySelector("select"), search = box.querySelector("input"), said = box.querySelector(".said");
  box.hidden = false;
  const show = () => {
    const text = search.value.trim().toLowerCase();
    const wanted = text ? [...names.keys()].filter((i) => names[i].toLowerCase().includes(text)) : [];
    clouds[place.id] = { by: Number(choice.value), wanted };
    said.textContent = text ? `${wanted.length.toLocaleString("en")} ${wanted.length === 1 ? "sample" : "samples"} found` : "";
    draw(place);
  };
  choice.addEventListener("change", show);
  search.addEventListener("input", show);
}

// Tables that are searched, sorted and copied.
const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
function compare(one, other) {
  const a = Number(one), b = Number(other);
  if (Number.isNaN(a) || Number.isNaN(b)) return one.localeCompare(other, undefined, { numeric: true });
  return a - b;
}
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
for (const box of document.querySelectorAll(".lookup")) {
  const table = box.querySelector("table"), body = table.tBodies[0];
  const search = box.querySelector("input"), choice = box.querySelector("select");
  const said = box.querySelector(".said"), thing = box.dataset.thing;
  const rows = () => [...body.rows].filter((row) => !row.hidden);
  const filter = () => {
    const wanted = search.value.trim().toLowerCase(), group = choice ? choice.value : "";
    for (const row of body.rows) {
      const fits = !group || row.dataset.group === group;
      row.hidden = !fits || !row.dataset.search.toLowerCase().includes(wanted);
    }
    const shown = rows().length.toLocaleString("en");
    said.textContent = `${shown} of ${body.rows.length.toLocaleString("en")} rows`;
  };
  search.addEventListener("input", filter);
  if (choice) choice.addEventListener("change", filter);
  box.querySelector(".controls").hidden = false;
  box.querySelector("[data-copy]").addEventListener("click", async () => {
    const names = [...new Set(rows().map((row) => row.dataset.search))];
    await copy(names.join("\n"));
    said.textContent = `${names.length.toLocaleString("en")} ${thing}${names.length === 1 ? "" : "s"} copied, one a line`;
  });
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const sorter = head.querySelector("button");
    if (!sorter) return;
    sorter.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      heads.forEach((cell) => cell.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sorted = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)));
      body.append(...(up ? sorted : sorted.reverse()));
    });
  });
}

// Paper has the first rows of a long table; of variables, which stand cluster by cluster, of each.
const PRINTED = 30, PRINTED_EACH = 5;
function cut() {
  for (const table of document.querySelectorAll("table.long")) {
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    const box = table.closest(".lookup"), whose = box?.querySelector("select")?.dataset.kind;
    const group = (row) => (whose && box.dataset.thing !== "sample" ? row.dataset.group : "");
    const groups = new Set(rows.map(group)).size, counts = {};
    const each = Math.max(PRINTED_EACH, Math.floor(PRINTED / groups));
    let printed = 0;
    for (const row of rows) {
      counts[group(row)] = (counts[group(row)] ?? 0) + 1;
      row.classList.toggle("unprinted", counts[group(row)] > each);
      printed += counts[group(row)] <= each;
    }
    const many = groups > 1 ? `the first ${each} rows of each ${whose}` : `the first ${each} of ${rows.length.toLocaleString("en")} rows`;
    table.caption.firstElementChild.dataset.printed = printed < rows.length ? ` Printed here: ${many}.` : "";
  }
}
addEventListener("beforeprint", cut);
matchMedia("print").addEventListener("change", cut);

// An option such as --dims, and a figure with its %, do not break at the end of a line.
const WHOLE = /(--[a-z][a-z-]*|\d+ %)/;
for (const sentence of document.querySelectorAll("p, li, li > span, caption, figcaption")) {
  for (const text of [...sentence.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)) {
    const parts = text.data.split(WHOLE);
    if (parts.length === 1) continue;
    text.replaceWith(...parts.map((part, place) => {
      if (place % 2 === 0) return part;
      const whole = document.createElement("span");
      whole.className = "whole";
      whole.textContent = part;
      return whole;
    }));
  }
}
