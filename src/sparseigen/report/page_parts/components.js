// The page about components. `page` is the payload; `shown` the point of the path (or the answer) on view.

let page, shown, part = 0, position = -1;
const loadingsState = { column: null, ascending: false, all: false };
const HEAT_COLUMNS = 60;
const SHOWN_BLOCKS = 60;

const nameOf = (variable) => page.variables[variable];
const share = (value) => (page.total ? value / page.total : value);
const shownShare = (value) => (page.total ? percent(value / page.total) : compact(value));
const partNames = (point) => point.parts.map((_, j) => "PC" + (j + 1));

function byMagnitude(component) {
  const order = [...component.loadings.keys()];
  order.sort((a, b) => Math.abs(component.loadings[b]) - Math.abs(component.loadings[a]));
  return order;
}

function loadingsOf(component) {
  component.lookup ??= new Map(component.variables.map((variable, i) => [variable, component.loadings[i]]));
  return component.lookup;
}

// Variables of the point in blocks: each in that of the component in which it weighs most, the heaviest first.
function variablesOf(point) {
  const largest = new Map();
  point.parts.forEach((component, part) => {
    component.variables.forEach((variable, i) => {
      const weight = Math.abs(component.loadings[i]);
      if (weight > (largest.get(variable)?.weight ?? 0)) largest.set(variable, { weight, part });
    });
  });
  const compare = (a, b) => a.part - b.part || b.weight - a.weight;
  return [...largest.keys()].sort((a, b) => compare(largest.get(a), largest.get(b)));
}

// At most so many of them, of every block an equal part: a block that needs less leaves its room to the others.
function heaviestOf(point, most) {
  const all = variablesOf(point);
  if (all.length <= most) return all;
  const lookups = point.parts.map(loadingsOf);
  const blockOf = (variable) => {
    const weights = lookups.map((lookup) => Math.abs(lookup.get(variable) ?? 0));
    return weights.indexOf(Math.max(...weights));
  };
  const blocks = point.parts.map((_, part) => all.filter((variable) => blockOf(variable) === part));
  const kept = blocks.map(() => 0);
  for (let left = most, moved = true; left > 0 && moved;) {
    moved = false;
    blocks.forEach((block, i) => { if (left > 0 && kept[i] < block.length) { kept[i] += 1; left -= 1; moved = true; } });
  }
  return blocks.flatMap((block, i) => block.slice(0, kept[i]));
}

function curveSays() {
  const first = page.path[0].k, last = page.path[page.path.length - 1].k;
  return `Explained variance against k from ${first} to ${last}; at k = ${shown.k}: ${shownShare(shown.parts[0].value)}.`;
}

function curvePicture() {
  const firsts = page.path.map((point) => point.parts[0]);
  const k = firsts.map((c) => c.k);
  const traces = [];
  const certified = firsts.every((c) => c.upper !== null);
  const lineHover = (what) => `k = %{x}<br>${what} %{y}<extra></extra>`;
  if (certified) {
    const upper = firsts.map((c) => share(c.upper));
    traces.push({ x: k, y: upper, name: "proven limit", mode: "lines", line: { dash: "dot", width: 1.5, color: colour("second") },
      hovertemplate: lineHover("no choice can explain more than") });
  }
  traces.push({ x: k, y: firsts.map((c) => share(c.value)), name: "found", mode: "lines", line: { width: 2.5, color: colour("accent") },
    fill: certified ? "tonexty" : "none", fillcolor: colour("band"), hovertemplate: lineHover("explained") });
  const onView = page.answer.parts[0].k <= k[k.length - 1]; // an answer beyond the path is not drawn
  const top = Math.max(...firsts.map((c) => share(c.upper ?? c.value)), onView ? share(page.answer.parts[0].value) : 0);
  const near = page.dense && share(page.dense) <= 1.6 * top; // further off it would squash the curve
  if (near) {
    traces.push({ x: [k[0], k[k.length - 1]], y: [share(page.dense), share(page.dense)], name: "with all variables", mode: "lines",
      line: { dash: "dash", width: 1.2, color: colour("muted") }, hovertemplate: "without a limit on k: %{y}<extra></extra>" });
  }
  const answer = page.answer.parts[0], current = shown.parts[0];
  traces.push({ x: [answer.k], y: [share(answer.value)], name: "answer, k = " + answer.k, mode: "markers",
    marker: { symbol: "diamond", size: 13, color: colour("second"), line: { width: 1, color: colour("card") } },
    hovertemplate: "the answer: k = %{x}, %{y}<extra></extra>" });
  return {
    traces,
    layout: { height: narrow() ? 320 : 360, showlegend: true, shapes: [shownMark(shown.k, share(current.value))], xaxis: { title: { text: "number of variables k" }, range: padded(k) },
      yaxis: { title: { text: page.total ? "share of total variance" : "variance" }, tickformat: page.total ? ".0%" : undefined,
        hoverformat: page.total ? ".2%" : ".5g", range: [0, 1.06 * Math.max(top, near ? share(page.dense) : 0)] } },
    says: curveSays(),
    note: (certified ? "The optimum lies in the coloured band: the line was found, the dotted line is a proven limit." : "This path has no certificates: it shows what was found, not what is possible.") +
      (page.dense && !near ? ` Without a limit on k a component explains ${shownShare(page.dense)}.` : ""),
  };
}

function barsPicture() {
  const component = shown.parts[Math.min(part, shown.parts.length - 1)];
  const order = byMagnitude(component).slice(0, SHOWN_BARS).reverse();
  const names = order.map((i) => nameOf(component.variables[i]));
  const values = order.map((i) => component.loadings[i]);
  const total = component.nonzeros;
  return {
    traces: [{ type: "bar", orientation: "h", x: values, y: values.map((_, i) => i),
      marker: { color: values.map((v) => (v < 0 ? colour("second") : colour("accent"))) },
      hovertext: names.map((name, i) => `${plotText(name)}<br>loading ${compact(values[i])}<br>number ${order.length - i} of ${total}`),
      hoverinfo: "text" }],
    layout: { height: 70 + 20 * Math.max(3, names.length), margin: { l: nameMargin(tickNames(names)), r: 20, t: 8, b: 44 },
      bargap: 0.25, xaxis: { title: { text: "loading" }, zeroline: true, nticks: 6 },
      yaxis: { ...NAME_TICKS, tickvals: values.map((_, i) => i), ticktext: tickNames(names).map(plotText), range: [-0.7, Math.max(3, names.length) - 0.3], showgrid: false, zeroline: false } },
    says: `Loadings of component ${part + 1} at k = ${component.k}: ${names.slice(-3).reverse().join(", ")} are the largest.`,
    note: (total > order.length ? `The ${order.length} largest of ${total} are drawn. ` : "") + "Blue: rises with the component. Orange: falls.",
  };
}

// One column per component; for a single component along a path, one column per k.
function heatColumns() {
  if (shown.parts.length > 1 || !page.path.length) {
    return { title: "component", ticks: partNames(shown), at: -1, lookups: shown.parts.map(loadingsOf), words: partNames(shown) };
  }
  const step = Math.max(1, Math.ceil(page.path.length / HEAT_COLUMNS));
  const points = page.path.filter((_, i) => i % step === 0 || i === position);
  return {
    title: "number of variables k", ticks: points.map((p) => String(p.k)), at: points.findIndex((p) => p.k === shown.k),
    lookups: points.map((p) => loadingsOf(p.parts[0])), words: points.map((p) => "k = " + p.k),
  };
}

function heatPicture() {
  const columns = heatColumns();
  const all = variablesOf(shown);
  const variables = heaviestOf(shown, shown.parts.length > 1 ? SHOWN_BLOCKS : SHOWN_BARS).reverse();
  const names = variables.map(nameOf);
  const z = variables.map((variable) => columns.lookups.map((lookup) => lookup.get(variable) ?? null));
  const few = columns.lookups.length <= 8;
  const most = Math.max(1e-12, ...z.map((row) => Math.max(...row.map((v) => Math.abs(v ?? 0)))));
  const stride = Math.ceil(columns.ticks.length / (narrow() ? 6 : 10));
  const ticks = columns.ticks.map((_, i) => i).filter((i) => i % stride === 0);
  const trace = { type: "heatmap", z, zmin: -most, zmax: most, xgap: few ? 2 : 0, ygap: few ? 2 : 0, hoverongaps: false,
    colorscale: [[0, colour("second")], [0.5, colour("mid")], [1, colour("accent")]],
    showscale: false,
    hovertext: names.map((name, r) => columns.words.map((word, c) => `${plotText(name)}<br>${word}<br>loading ${z[r][c] === null ? 0 : compact(z[r][c])}`)),
    hoverinfo: "text" };
  if (few) {
    trace.text = z.map((row) => row.map((v) => (v === null ? "" : v.toFixed(2))));
    trace.texttemplate = "%{text}";
    trace.textfont = { color: colour("ink"), size: 12 }; // readable on every shade between the pale ends below
    trace.colorscale = [[0, colour("warm")], [0.5, colour("mid")], [1, colour("cool")]];
  }
  const shapes = columns.at < 0 ? [] : [{ type: "rect", x0: columns.at - 0.5, x1: columns.at + 0.5, y0: -0.5, y1: names.length - 0.5,
    line: { color: colour("ink"), width: 1.5 } }];
  return {
    traces: [trace],
    layout: { height: 70 + 20 * Math.max(3, names.length), margin: { l: nameMargin(tickNames(names)), r: 16, t: 8, b: 44 }, shapes,
      xaxis: { title: { text: columns.title }, side: "bottom", tickvals: ticks, ticktext: ticks.map((i) => columns.ticks[i]), showgrid: false, zeroline: false },
      yaxis: { ...NAME_TICKS, tickvals: names.map((_, i) => i), ticktext: tickNames(names).map(plotText), range: [-0.5, Math.max(3, names.length) - 0.5], showgrid: false, zeroline: false } },
    says: `Heat map of the loadings of ${names.length} variables over ${columns.lookups.length} columns (${columns.title}).`,
    note: (all.length > names.length ? `The ${names.length} of ${all.length} variables with the largest loadings. ` : "") + (columns.at < 0 ? "" : "The variables of the k shown (framed), followed along the path. ") +
      `Full blue is ${compact(most)}, full orange \u2212${compact(most)}; empty cells are exact zeros.`,
  };
}

// How a group of samples is drawn: no two of the first MOST_GROUPS alike.
function groupMarker(code) {
  const colours = CATEGORY_COLOURS[document.documentElement.dataset.theme];
  const symbol = CATEGORY_SYMBOLS[code % CATEGORY_SYMBOLS.length];
  const hollow = code >= colours.length;
  return { size: 9, color: colours[code % colours.length], symbol: hollow ? symbol + "-open" : symbol,
    line: hollow ? { width: 2 } : { width: 0.8, color: colour("card") } };
}

// Groups as they are drawn: of more than MOST_GROUPS the largest keep their own mark, the others share the last.
function drawnGroups(labels, count) {
  if (!labels || !labels.names) return { names: ["samples"], codes: Array(count).fill(0), merged: 0 };
  const { names, codes } = labels;
  if (names.length <= MOST_GROUPS) return { names, codes, merged: 0 };
  const sizes = names.map(() => 0);
  codes.forEach((code) => { sizes[code] += 1; });
  const kept = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a] || a - b).slice(0, MOST_GROUPS - 1).sort((a, b) => a - b);
  const place = new Map(kept.map((code, i) => [code, i]));
  const merged = names.length - kept.length;
  return { names: [...kept.map((code) => names[code]), `${merged} smaller groups`], codes: codes.map((code) => place.get(code) ?? kept.length), merged };
}

// Rows of a legend below a picture, its entries with whole names, in columns as wide as the widest.
function legendRows(names) {
  const available = byId("scores").clientWidth - 90, widest = 48 + 7.5 * Math.max(...names.map((name) => name.length));
  return Math.ceil(names.length / Math.max(1, Math.floor(available / widest)));
}

function sampleName(i) {
  const row = page.scores.rows[i];
  return page.scores.names ? page.scores.names[i] : `sample ${row + 1}`;
}

function scoresPicture() {
  const { columns, labels } = page.scores;
  const across = Number(byId("across").value || 0), up = Number(byId("up").value || 0);
  const single = columns.length === 1;
  const x = columns[across];
  const { names: groups, codes, merged } = drawnGroups(labels, x.length);
  // One component: one strip per label, spread a little so that dots do not hide each other.
  const y = single ? codes.map((code, i) => code + 0.5 * (((i * 0.618034) % 1) - 0.5)) : columns[up];
  const hover = (i) => plotText(sampleName(i)) + (labels ? `<br>${plotText(labels.names ? labels.names[labels.codes[i]] : String(labels.numbers[i]))}` : "");
  const trace = (indices, extra) => ({ type: "scatter", mode: "markers", x: indices.map((i) => x[i]), y: indices.map((i) => y[i]),
    hovertext: indices.map((i) => `${hover(i)}<br>PC${across + 1} ${compact(x[i])}` + (single ? "" : `<br>PC${up + 1} ${compact(y[i])}`)), hoverinfo: "text", ...extra });
  const all = [...x.keys()];
  const edge = { width: 0.8, color: colour("card") };
  const longestName = Math.max(12, Math.floor((byId("scores").clientWidth - 130) / 7.5));
  const title = page.scores.title ? plotText(shortened(page.scores.title, longestName)) : "";
  const traces = labels && labels.numbers
    ? [trace(all, { marker: { size: 9, color: labels.numbers, colorscale: "Viridis", showscale: true, colorbar: { thickness: 10, title: { text: title } }, line: edge } })]
    : groups.map((name, code) => trace(all.filter((i) => codes[i] === code), { name: plotText(shortened(name, longestName)), marker: groupMarker(code) }));
  const ticks = single ? { ...NAME_TICKS, tickvals: groups.map((_, i) => i), ticktext: groups.map((name) => plotText(shortened(name, 14))), showgrid: false, zeroline: false } : { title: { text: `score on PC${up + 1}` } };
  return {
    traces,
    layout: { height: (single ? 140 + 60 * groups.length : 440) + (groups.length > 1 ? 44 + 20 * legendRows(groups) : 0), showlegend: groups.length > 1,
      legend: { orientation: "h", traceorder: "normal", title: { text: title, side: "top" }, x: 0, xanchor: "left", yref: "container", y: 0, yanchor: "bottom" }, xaxis: { title: { text: `score on PC${across + 1}` } }, yaxis: ticks,
      margin: { l: single ? nameMargin(groups.map((name) => shortened(name, 14))) : 70, r: 20, t: 8, b: 44 + (groups.length > 1 ? 44 + 20 * legendRows(groups) : 0) } },
    says: `Scores of ${x.length} samples` + (groups.length > 1 ? `, coloured by ${groups.length} labels.` : "."),
    note: "One dot per sample; close dots are alike in the chosen variables." + (x.length < page.scores.samples ? ` ${x.length} of ${page.scores.samples} samples are drawn.` : "") +
      (merged ? ` The ${MOST_GROUPS - 1} largest groups have marks of their own; the ${merged} others share one, and tell their name under the pointer.` : ""),
  };
}

function stabilityPicture() {
  const chosenPart = Number(byId("stable-part").value || 0);
  const { variables, frequencies, chosen } = page.stability[chosenPart];
  const count = Math.min(SHOWN_BARS, variables.length);
  const order = [...Array(count).keys()].reverse();
  const names = order.map((i) => nameOf(variables[i]));
  const often = frequencies.filter((f, i) => chosen[i] && f >= 0.8).length;
  const inAnswer = chosen.filter(Boolean).length;
  return {
    traces: [{ type: "bar", orientation: "h", x: order.map((i) => frequencies[i]), y: order.map((_, i) => i),
      marker: { color: order.map((i) => (chosen[i] ? colour("accent") : colour("dot"))) },
      hovertext: order.map((i, n) => `${plotText(names[n])}<br>chosen in ${percent(frequencies[i])} of the resamples<br>${chosen[i] ? "" : "not "}chosen by all samples together`), hoverinfo: "text" }],
    layout: { height: 70 + 20 * Math.max(3, count), margin: { l: nameMargin(tickNames(names)), r: 20, t: 8, b: 44 }, bargap: 0.25,
      shapes: [{ type: "line", x0: 0.8, x1: 0.8, yref: "paper", y0: 0, y1: 1, line: { dash: "dot", color: colour("muted"), width: 1.2 } }],
      xaxis: { title: { text: "share of the resamples" }, range: [0, 1.02], tickformat: ".0%" },
      yaxis: { ...NAME_TICKS, tickvals: order.map((_, i) => i), ticktext: tickNames(names).map(plotText), range: [-0.7, Math.max(3, count) - 0.3], showgrid: false, zeroline: false } },
    says: `Selection frequencies of ${count} variables.`,
    note: `${page.resamples} random parts of the samples were solved again. ${often} of the ${inAnswer} chosen variables were chosen in at least 80% of them (dotted line). Blue: chosen by all samples together; grey: not.`,
  };
}

function loadingRows(point) {
  const lookups = point.parts.map(loadingsOf);
  return variablesOf(point).map((variable) => [nameOf(variable), ...lookups.map((lookup) => lookup.get(variable) ?? null)]);
}

function showLoadings() {
  showTable("loadings", loadingsState, ["variable", ...partNames(shown)], loadingRows(shown));
  const component = shown.parts[0];
  const missing = component.nonzeros - component.loadings.length;
  byId("loadings-note").textContent = `k = ${shown.k}.` + (missing > 0 ? ` The page holds the ${component.loadings.length} largest of ${component.nonzeros} loadings.` : "") + " Click a heading to sort; numbers are sorted by size without sign.";
}

function showPoint() {
  shown = position < 0 ? page.answer : page.path[position];
  loadingsState.all = false;
  if (page.path.length) {
    const first = shown.parts[0];
    const proof = first.optimal ? "proven best" : first.gap === null ? "no proof" : `gap ${percent(first.gap)}`;
    byId("k-shown").textContent = `k = ${shown.k}: ${shownShare(first.value)}, ${proof}`;
    byId("slider").setAttribute("aria-valuetext", `k = ${shown.k}, ${shownShare(first.value)}`);
    byId("says").textContent = first.says;
    byId("back").disabled = position < 0;
    moveMark("curve", shown.k, share(first.value), curveSays());
  }
  fillParts();
  draw("bars");
  draw("heat");
  showLoadings();
}

function options(select, names, chosen) {
  select.replaceChildren(...names.map((name, i) => new Option(name, String(i), i === chosen, i === chosen)));
}

function fillParts() {
  part = Math.min(part, shown.parts.length - 1);
  byId("part-pick").hidden = shown.parts.length < 2;
  if (byId("part").options.length !== shown.parts.length) options(byId("part"), partNames(shown), part);
}

function nearest(k) {
  let best = 0;
  page.path.forEach((point, i) => { if (Math.abs(point.k - k) < Math.abs(page.path[best].k - k)) best = i; });
  return best;
}

function watchSlider() {
  const slider = byId("slider");
  slider.max = String(page.path.length - 1);
  slider.value = String(nearest(page.answer.k));
  const show = oncePerFrame(showPoint);
  slider.oninput = () => { position = Number(slider.value); show(); };
  byId("back").onclick = () => { position = -1; slider.value = String(nearest(page.answer.k)); show(); };
}

function pathRows() {
  const rows = page.path.map((point) => {
    const c = point.parts[0];
    return [c.k, c.value, page.total ? c.value / page.total : null, c.upper, c.gap, c.optimal ? "yes" : c.gap === null ? "unknown" : "no", c.variables.map(nameOf).join("; ")];
  });
  return [["k", "value", "share", "upper_bound", "relative_gap", "proven_best", "variables"], ...rows];
}

function scoreRows() {
  const { columns, labels, rows } = page.scores;
  const label = (i) => (labels.names ? labels.names[labels.codes[i]] : labels.numbers[i]);
  const head = ["sample", ...columns.map((_, j) => "PC" + (j + 1)), ...(labels ? ["label"] : [])];
  return [head, ...rows.map((row, i) => [page.scores.names ? page.scores.names[i] : row + 1, ...columns.map((c) => c[i]), ...(labels ? [label(i)] : [])])];
}

function significanceRows() {
  return [["component", "variable", "loading", "p_value", "adjusted", "takes_part"], ...page.significance.flatMap((s, j) =>
    s.variables.map((v, i) => [j + 1, nameOf(v), s.loadings[i], s.p[i], s.adjusted[i], s.part[i] ? "yes" : "no"]))];
}

function stabilityRows() {
  return [["component", "variable", "frequency", "chosen"], ...page.stability.flatMap((s, j) =>
    s.variables.map((variable, i) => [j + 1, nameOf(variable), s.frequencies[i], s.chosen[i] ? "yes" : "no"]))];
}

function watchDownloads() {
  const loadings = (point) => [["variable", ...partNames(point)], ...loadingRows(point)];
  byId("loadings-csv").onclick = () => offerCsv(`loadings_k${shown.k}.csv`, loadings(shown));
  byId("answer-csv").onclick = () => offerCsv("loadings.csv", loadings(page.answer));
  byId("answer-json").onclick = () => offerJson("result.json", page.results);
  if (page.path.length) byId("path-csv").onclick = () => offerCsv("path.csv", pathRows());
  if (page.scores) byId("scores-csv").onclick = () => offerCsv("scores.csv", scoreRows());
  if (page.significance) byId("significance-csv").onclick = () => offerCsv("significance.csv", significanceRows());
  if (page.stability) byId("stability-csv").onclick = () => offerCsv("stability.csv", stabilityRows());
}

function begin(payload) {
  page = payload;
  shown = page.answer;
  byId("part").onchange = () => { part = Number(byId("part").value); draw("bars"); };
  if (page.path.length) {
    pictures.set("curve", curvePicture);
    watchSlider();
  }
  pictures.set("bars", barsPicture);
  pictures.set("heat", heatPicture);
  if (page.path.length) draw("curve");
  showPoint();
  if (page.scores) {
    const names = page.scores.columns.map((_, j) => "PC" + (j + 1));
    options(byId("across"), names, 0);
    options(byId("up"), names, Math.min(1, names.length - 1));
    byId("axes-pick").hidden = names.length < 3;
    for (const id of ["across", "up"]) byId(id).onchange = () => draw("scores");
    pictures.set("scores", scoresPicture);
    draw("scores");
  }
  if (page.stability) {
    options(byId("stable-part"), page.stability.map((_, j) => "PC" + (j + 1)), 0);
    byId("stable-pick").hidden = page.stability.length < 2;
    byId("stable-part").onchange = () => draw("stability");
    pictures.set("stability", stabilityPicture);
    draw("stability");
  }
  watchDownloads();
}

start(begin);
