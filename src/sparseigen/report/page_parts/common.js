"use strict";
// Shared by all pages. Text from the data reaches the page through textContent, or through plotText for Plotly.

const byId = (id) => document.getElementById(id);
const SHOWN_BARS = 25;
const SHOWN_ROWS = 50;
// Colours that people with any colour vision tell apart, the first eight above all, lighter on a dark page; symbols
// differ as well, and the second ten groups are drawn hollow: MOST_GROUPS pairs of colour and symbol, no two alike.
const CATEGORY_COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b98000", "#3d97cc", "#7a55a8", "#6b6b6b", "#8c3b2e", "#4f8a10"],
  dark: ["#5db7f0", "#ff9248", "#3fd0a3", "#e8a5cb", "#f2c14e", "#9ad7ff", "#bfa3e6", "#b9b9b9", "#e58a78", "#a6d854"],
};
const CATEGORY_SYMBOLS = ["circle", "diamond", "square", "triangle-up", "cross", "x", "star", "hexagon"];
const MOST_GROUPS = 20;

const NAME_TICKS = { ticks: "outside", ticklen: 5, tickcolor: "rgba(0,0,0,0)" }; // room between a name and its row

async function inflated(id) {
  const text = atob(byId(id).textContent.trim());
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

// Plotly reads a subset of HTML in labels and hover text; names must come out as they are.
function plotText(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function shortened(text, most) {
  const letters = Array.from(text);
  return letters.length > most ? letters.slice(0, most - 1).join("") + "\u2026" : text;
}

function percent(share) {
  return (100 * share).toFixed(2) + "%";
}

function compact(value, digits = 5) {
  return Number(value.toPrecision(digits)).toString();
}

// The style sheet's colours, read once per theme: asking for them while the page changes makes the browser lay it out again.
const themeColours = {};

function colour(name) {
  return themeColours[name];
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "muted", "card", "line", "grid", "accent", "second", "band", "mid", "dot", "cool", "warm"]) {
    themeColours[name] = style.getPropertyValue("--" + name).trim();
  }
}

function narrow() {
  return window.innerWidth < 760;
}

// ---- pictures: each one is a function from the page's state to {traces, layout, says, note} ----

const pictures = new Map();

function draw(id) {
  const { traces, layout, says, note } = pictures.get(id)();
  const base = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("ink"), size: 13, family: "system-ui, sans-serif" },
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("muted"), font: { color: colour("ink") }, align: "left" },
    hovermode: "closest",
    dragmode: false,
    showlegend: false,
    margin: { l: 56, r: 20, t: 8, b: 44 },
    legend: { orientation: "h", traceorder: "normal", x: 0, y: 1.02, yanchor: "bottom", xanchor: "left" },
  };
  // Measuring every label to see whether it overflows takes longer than all the rest of a drawing.
  const axis = { gridcolor: colour("grid"), zerolinecolor: colour("line"), ticklabeloverflow: "allow", tickangle: 0, fixedrange: true };
  const full = { ...base, ...layout, xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis } };
  const element = byId(id);
  element.style.height = full.height + "px";
  Plotly.react(element, traces, full, { displayModeBar: false, responsive: true });
  element.setAttribute("aria-label", says);
  if (note !== undefined) byId(id + "-note").textContent = note;
}

// The ring around the point on view is a shape: moving it leaves the curve itself alone.
function shownMark(x, y) {
  return { type: "circle", xsizemode: "pixel", ysizemode: "pixel", xanchor: x, yanchor: y, x0: -9, x1: 9, y0: -9, y1: 9,
    line: { width: 2.5, color: colour("ink") } };
}

function moveMark(id, x, y, says) {
  Plotly.relayout(byId(id), { shapes: [shownMark(x, y)] });
  byId(id).setAttribute("aria-label", says);
}

function drawAll() {
  for (const id of pictures.keys()) draw(id);
}

// A range with room for the markers at both ends.
function padded(values) {
  const low = Math.min(...values), high = Math.max(...values), pad = Math.max(0.03 * (high - low), 0.5);
  return [low - pad, high + pad];
}

// Left margin for names: enough for the longest, never more than a third of the picture.
function nameMargin(names) {
  const longest = Math.max(1, ...names.map((name) => name.length));
  return Math.min(24 + 7.2 * longest, narrow() ? 120 : 190);
}

function tickNames(names) {
  const most = narrow() ? 13 : 22;
  return names.map((name) => shortened(name, most));
}

// ---- tables: sorted by a button in the head of each column ----

function showTable(id, state, heads, rows) {
  const table = byId(id);
  const order = [...rows.keys()];
  const { column, ascending } = state;
  if (column !== null) {
    const sign = ascending ? 1 : -1;
    order.sort((a, b) => sign * compared(rows[a][column], rows[b][column]) || a - b);
  }
  const again = (focused) => {
    showTable(id, state, heads, rows);
    table.tHead.rows[0].cells[focused].firstChild.focus(); // the head was made anew; the keyboard stays where it was
  };
  table.tHead.replaceChildren(headRow(heads, state, again));
  const shown = state.all ? order : order.slice(0, SHOWN_ROWS);
  table.tBodies[0].replaceChildren(...shown.map((i) => bodyRow(rows[i])));
  const more = byId(id + "-all");
  more.hidden = shown.length === order.length;
  more.textContent = `Show all ${order.length.toLocaleString("en")} rows`;
  more.onclick = () => { state.all = true; again(0); };
}

function compared(a, b) {
  if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
  return Math.abs(a ?? 0) - Math.abs(b ?? 0);
}

function headRow(heads, state, again) {
  const row = document.createElement("tr");
  heads.forEach((head, column) => {
    const cell = document.createElement("th");
    const button = document.createElement("button");
    cell.scope = "col";
    const active = state.column === column;
    cell.setAttribute("aria-sort", !active ? "none" : state.ascending ? "ascending" : "descending");
    button.type = "button";
    button.textContent = head;
    button.onclick = () => {
      state.ascending = active ? !state.ascending : column === 0;
      state.column = column;
      again(column);
    };
    cell.append(button);
    row.append(cell);
  });
  return row;
}

function bodyRow(values) {
  const row = document.createElement("tr");
  values.forEach((value, column) => {
    const cell = document.createElement(column ? "td" : "th");
    if (!column) cell.scope = "row";
    cell.textContent = typeof value === "number" ? compact(value, 4) : value ?? "";
    row.append(cell);
  });
  return row;
}

// ---- downloads ----

// A spreadsheet runs text that starts like a formula; an apostrophe makes it text.
function csvCell(value) {
  if (typeof value === "number") return String(value);
  let text = value === null || value === undefined ? "" : String(value);
  if (/^[' ]*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

function csv(rows) {
  return rows.map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
}

function offer(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const offerCsv = (name, rows) => offer(name, "text/csv;charset=utf-8", csv(rows));
const offerJson = (name, value) => offer(name, "application/json", JSON.stringify(value, null, 1) + "\n");

function offerPng(id) {
  const element = byId(id);
  // The page's own background: a transparent picture of light text is unreadable elsewhere.
  const layout = { ...element.layout, paper_bgcolor: colour("card"), plot_bgcolor: colour("card") };
  const size = { width: element.clientWidth, height: element.clientHeight, scale: 2 };
  return Plotly.downloadImage({ data: element.data, layout }, { format: "png", filename: id, ...size });
}

// ---- start ----

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColours();
  const button = byId("theme");
  button.setAttribute("aria-pressed", String(theme === "dark"));
  button.textContent = theme === "dark" ? "Light" : "Dark";
  button.setAttribute("aria-label", theme === "dark" ? "Use light colours" : "Use dark colours");
}

function watchTheme() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => setTheme(system.matches ? "dark" : "light");
  follow();
  system.addEventListener("change", () => { follow(); drawAll(); });
  byId("theme").onclick = () => {
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    drawAll();
  };
}

function watchWidth() {
  let before = narrow();
  window.addEventListener("resize", () => {
    if (narrow() !== before) { before = narrow(); drawAll(); }
  });
}

// At most one redraw a frame, however fast the slider moves.
function oncePerFrame(action) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; action(); });
  };
}

async function start(begin) {
  if (typeof DecompressionStream === "undefined") {
    byId("notice").textContent = "This browser is too old for the pictures (2023 or newer is needed). The words and tables below hold.";
    byId("notice").hidden = false;
    return;
  }
  document.documentElement.dataset.script = "on";
  watchTheme();
  const [payload, library] = await Promise.all([inflated("payload"), inflated("library")]);
  const script = document.createElement("script");
  script.textContent = library;
  document.head.append(script);
  begin(JSON.parse(payload));
  watchWidth();
  document.querySelectorAll("[data-png]").forEach((button) => { button.onclick = () => offerPng(button.dataset.png); });
  document.documentElement.dataset.ready = "true";
}
