// The page of measurements. `page` is the payload; each picture reads its choice from the select beside it.

let page;
const chosen = { cell: "", axis: 0, history: 0 };
const paletteOf = () => CATEGORY_COLOURS[document.documentElement.dataset.theme === "dark" ? "dark" : "light"];
const look = (i) => ({ color: paletteOf()[i % 8], symbol: CATEGORY_SYMBOLS[(i + Math.floor(i / 8)) % 8], size: 10 });
const methods = () => [...new Set(page.peers.map((row) => row.method))];
const ALL = "all cells";

function reachedPicture() {
  const rows = page.peers.filter((row) => chosen.cell === ALL || row.cell === chosen.cell);
  const traces = methods().map((method, i) => {
    const own = rows.filter((row) => row.method === method && row.share !== null);
    return { x: own.map((row) => row.ms), y: own.map((row) => 100 * row.share), name: plotText(method), mode: "markers", marker: look(i),
      text: own.map((row) => plotText(`${row.method}, ${row.cell}, ${row.kept} kept`)), hovertemplate: "%{text}<br>%{x:.3g} ms, %{y:.4f} % of ours<extra></extra>" };
  }).filter((trace) => trace.x.length);
  return {
    traces,
    layout: { height: 420 + 16 * Math.ceil(traces.length / (narrow() ? 1 : 3)), showlegend: true,
      xaxis: { type: "log", title: { text: "milliseconds of one fit" } }, yaxis: { title: { text: "value, % of our default" }, ticksuffix: " %" } },
    says: `${rows.length} answers: value against time of one fit.`,
    note: "One mark an answer, at the number of variables that method kept. Above 100 % a package would beat our default; further left is faster.",
  };
}

function timesPicture() {
  const names = methods().reverse();
  const cells = [...new Set(page.peers.map((row) => row.cell))];
  const traces = cells.map((cell, i) => {
    const own = page.peers.filter((row) => row.cell === cell && row.times !== null);
    return { x: own.map((row) => row.times), y: own.map((row) => names.indexOf(row.method)), name: plotText(cell), mode: "markers", marker: look(i),
      text: own.map((row) => plotText(`${row.method}, ${row.cell}, k = ${row.k}`)), hovertemplate: "%{text}<br>%{x:.3g} times<extra></extra>" };
  }).filter((trace) => trace.x.length);
  const shown = names.filter((name) => page.peers.some((row) => row.method === name && row.times !== null));
  traces.forEach((trace) => { trace.y = trace.y.map((at) => shown.indexOf(names[at])); });
  return {
    traces,
    layout: { height: 140 + 34 * shown.length, showlegend: true, margin: { l: narrow() ? 130 : 310, r: 20, t: 8, b: 44 },
      xaxis: { type: "log", title: { text: "times the seconds of Algorithm 1" } },
      yaxis: { tickvals: [...shown.keys()], ticktext: shown.map((name) => plotText(shortened(name, narrow() ? 15 : 42))), range: [-0.6, shown.length - 0.4], ...NAME_TICKS } },
    says: "Time of one fit of every method in every cell, over that of Algorithm 1.",
    note: "Right of 1 is slower than our Algorithm 1. Dense-subgraph cells have none of it and are not shown.",
  };
}

function growthPicture(read, unit, title) {
  const axis = page.axes[chosen.axis];
  const points = axis.points.filter((point) => read(point) !== null);
  const x = points.map((point) => point.size);
  const traces = [{ x, y: points.map(read), name: "measured", mode: "markers+lines", line: { width: 1, dash: "dot", color: colour("accent") },
    marker: { size: 10, color: colour("accent") }, hovertemplate: `${plotText(axis.grows)} = %{x}<br>%{y:.4g} ${unit}<extra></extra>` }];
  if (unit === "ms" && axis.exponent !== null) {
    traces.push({ x, y: x.map((size) => 1000 * axis.factor * size ** axis.exponent), name: `exponent ${axis.exponent.toFixed(2)}`, mode: "lines",
      line: { width: 2, color: colour("second") }, hoverinfo: "skip" });
  }
  const zero = points.some((point) => !(read(point) > 0)); // a logarithm has no place for it
  return {
    traces,
    layout: { height: 360, showlegend: true, xaxis: { type: "log", title: { text: axis.grows }, tickvals: x, ticktext: x.map((v) => v.toLocaleString("en")) },
      yaxis: { type: zero ? "linear" : "log", rangemode: "tozero", title: { text: title } } },
    says: `${title} against ${axis.grows}.`,
    note: axis.name + " (" + axis.fixed + ")" + (unit === "ms" && axis.exponent !== null ? `: exponent ${axis.exponent.toFixed(2)}, 95 % interval ${axis.low.toFixed(2)} to ${axis.high.toFixed(2)}` : ""),
  };
}

function historyPicture() {
  const one = page.history[chosen.history];
  return {
    traces: [{ x: one.dates.map((date) => date.slice(0, 16).replace("T", " ")), y: one.ms, mode: "lines+markers", line: { color: colour("accent"), width: 2 }, marker: { size: 9 }, text: one.revisions.map(plotText),
      hovertemplate: "%{x}<br>%{y:.4g} ms<br>%{text}<extra></extra>" }],
    layout: { height: 340, xaxis: { title: { text: "run" }, type: "category", nticks: narrow() ? 3 : 8 }, yaxis: { title: { text: "milliseconds" }, rangemode: "tozero" } },
    says: `${one.name}: ${one.ms.length} runs.`,
    note: "Smallest time of each run in this mode on a machine of this kind.",
  };
}

function fill(id, names, change) {
  const pick = byId(id);
  pick.replaceChildren(...names.map((name, i) => {
    const option = document.createElement("option");
    option.value = String(i);
    option.textContent = name;
    return option;
  }));
  pick.onchange = () => change(Number(pick.value));
}

start((payload) => {
  page = payload;
  if (page.peers.length) {
    const cells = [ALL, ...new Set(page.peers.map((row) => row.cell))];
    chosen.cell = ALL;
    fill("cell-pick", cells, (i) => { chosen.cell = cells[i]; draw("reached"); });
    pictures.set("reached", reachedPicture);
    pictures.set("times", timesPicture);
  }
  if (page.axes.length) {
    fill("axis-pick", page.axes.map((axis) => axis.name), (i) => { chosen.axis = i; draw("seconds"); draw("memory"); });
    pictures.set("seconds", () => growthPicture((point) => point.ms, "ms", "milliseconds"));
    pictures.set("memory", () => growthPicture((point) => point.mb, "MB", "megabytes"));
  }
  if (page.history.length) {
    fill("history-pick", page.history.map((one) => one.name), (i) => { chosen.history = i; draw("history"); });
    pictures.set("history", historyPicture);
  }
  drawAll();
});
