// The page about dense subgraphs. `page` is the payload; `position` the point of the curve on view.

let page, position = 0;
const membersState = { column: null, ascending: false, all: false };
const LABELLED = 25;

const shownPoint = () => page.points[position];
const sameSize = () => page.points.every((point) => point.k === page.points[0].k);
const across = (i) => (sameSize() ? i + 1 : page.points[i].k);
const pointName = (i) => (sameSize() ? `group ${i + 1}` : `k = ${page.points[i].k}`);

const curveSays = () => `Density against k; at ${pointName(position)}: ${compact(shownPoint().density)}.`;

function curvePicture() {
  const x = page.points.map((_, i) => across(i));
  const order = [...x.keys()].sort((a, b) => x[a] - x[b]);
  const sorted = (read) => order.map((i) => read(page.points[i]));
  const xs = order.map((i) => x[i]);
  const certified = page.points.every((point) => point.upper !== null);
  const traces = [];
  if (certified) {
    traces.push({ x: xs, y: sorted((p) => p.upper), name: "proven limit", mode: "lines", line: { dash: "dot", width: 1.5, color: colour("second") },
      hovertemplate: "k = %{x}<br>no group can exceed %{y:.5g}<extra></extra>" });
  }
  traces.push({ x: xs, y: sorted((p) => p.density), name: "found", mode: x.length > 40 ? "lines" : "lines+markers", line: { width: 2.5, color: colour("accent") },
    fill: certified ? "tonexty" : "none", fillcolor: colour("band"), hovertemplate: "k = %{x}<br>density %{y:.5g}<extra></extra>" });
  const answer = page.points[page.opening];
  traces.push({ x: [across(page.opening)], y: [answer.density], name: `answer, ${pointName(page.opening)}`, mode: "markers",
    marker: { symbol: "diamond", size: 13, color: colour("second"), line: { width: 1, color: colour("card") } }, hoverinfo: "skip" });
  const point = shownPoint();
  return {
    traces,
    layout: { height: 380, showlegend: true, shapes: [shownMark(across(position), point.density)], xaxis: { title: { text: sameSize() ? "group" : "number of members k" }, range: padded(xs) }, yaxis: { title: { text: "density" }, rangemode: "tozero" } },
    says: curveSays(),
    note: "Density: the average weight of a member to the other members. " + (certified ? "The optimum lies in the coloured band." : "Without certificates."),
  };
}

// Lines in classes of their weight, the heaviest widest: one trace per class, the heaviest drawn last.
const LINE_WIDTHS = [0.6, 1.4, 2.4, 3.8];

function edgeTraces(point) {
  const weights = point.edges.map((edge) => edge[2]);
  const heaviest = Math.max(...weights), lightest = Math.min(...weights);
  const classOf = (weight) => (heaviest === lightest ? 1 : Math.min(3, Math.floor((4 * (weight - lightest)) / (heaviest - lightest))));
  const many = point.edges.length > 150; // thinner and paler, or they would be a blot
  return LINE_WIDTHS.map((width, number) => {
    const x = [], y = [];
    for (const [a, b, weight] of point.edges) {
      if (classOf(weight) !== number) continue;
      x.push(page.xy[a][0], page.xy[b][0], null);
      y.push(page.xy[a][1], page.xy[b][1], null);
    }
    return { type: "scatter", mode: "lines", x, y, hoverinfo: "skip", line: { width: many ? 0.4 * width : width, color: colour("accent") }, opacity: many ? 0.14 + 0.07 * number : 0.4 + 0.12 * number };
  });
}

// The view is fitted to the members on view; that of a map holds everyone, and stays as k changes.
function ranges(point) {
  const places = page.isMap ? page.xy.filter(Boolean) : point.members.map((node) => page.xy[node]).filter(Boolean);
  return [0, 1].map((c) => {
    const values = places.map((place) => place[c]);
    const low = Math.min(...values), high = Math.max(...values), pad = 0.08 * (high - low) + (page.isMap ? 0.05 : 1e-3);
    return [low - pad, high + pad];
  });
}

function memberTrace(point) {
  const drawn = [...point.members.keys()].filter((i) => page.xy[point.members[i]]);
  const large = drawn.length > 100 ? 0.6 : 1;
  const most = point.inside ? Math.max(1e-300, ...point.inside) : 1;
  const name = (i) => page.nodes[point.members[i]];
  return { type: "scatter", mode: drawn.length <= LABELLED && !narrow() ? "markers+text" : "markers",
    x: drawn.map((i) => page.xy[point.members[i]][0]), y: drawn.map((i) => page.xy[point.members[i]][1]),
    marker: { size: drawn.map((i) => large * (7 + (point.inside ? 7 * Math.sqrt(point.inside[i] / most) : 4))), color: colour("accent"), line: { width: 1, color: colour("card") } },
    text: drawn.map((i) => plotText(shortened(name(i), 16))), textposition: "top center", textfont: { size: 11, color: colour("ink") }, cliponaxis: false,
    hovertext: drawn.map((i) => plotText(name(i)) + (point.inside ? `<br>weight to the others ${compact(point.inside[i])}` : "")), hoverinfo: "text" };
}

function drawingPicture() {
  const point = shownPoint();
  const [xRange, yRange] = ranges(point);
  const traces = [];
  if (page.background.length) {
    traces.push({ type: "scatter", mode: "markers", x: page.background.map((p) => p[0]), y: page.background.map((p) => p[1]), hoverinfo: "skip", marker: { size: 4, color: colour("dot") } });
    const others = page.nodes.map((_, i) => i).filter((i) => page.xy[i] && !point.members.includes(i));
    traces.push({ ...traces[0], x: others.map((i) => page.xy[i][0]), y: others.map((i) => page.xy[i][1]) });
  }
  traces.push(...(point.edges.length ? edgeTraces(point) : []), memberTrace(point));
  const middle = (yRange[0] + yRange[1]) / 2;
  const plain = { showgrid: false, zeroline: false, showticklabels: false };
  const degrees = { ticksuffix: "°", zeroline: false, nticks: 8 };
  const drawn = traces[traces.length - 1].x.length;
  return {
    traces,
    layout: { height: narrow() ? 340 : page.isMap ? 460 : 480, margin: page.isMap ? { l: 48, r: 20, t: 8, b: 32 } : { l: 8, r: 8, t: 16, b: 8 },
      xaxis: { range: xRange, ...(page.isMap ? { ...degrees, nticks: narrow() ? 4 : 8 } : plain) },
      yaxis: { range: yRange, ...(page.isMap ? { ...degrees, scaleanchor: "x", scaleratio: 1 / Math.cos((middle * Math.PI) / 180) } : plain) } },
    says: `Drawing of ${drawn} members` + (page.isMap ? " on a map by longitude and latitude." : "."),
    note: (drawn < point.k ? `${drawn} of ${point.k} members are drawn. ` : "") + (point.edges.length ? `Lines: the ${point.edges.length} heaviest connections, the wider the heavier. ` : "") +
      (page.isMap ? "Grey: everyone else. Across: longitude, up: latitude; no coastlines are drawn." : "Close together: strongly connected. Larger dots: more weight to the others."),
  };
}

function memberRows() {
  const point = shownPoint();
  return point.members.map((node, i) => [
    page.nodes[node],
    ...(point.inside ? [point.inside[i], page.degrees[node]] : []),
    ...(page.isMap ? (page.xy[node] ? [page.xy[node][1], page.xy[node][0]] : [null, null]) : []),
  ]);
}

function memberHeads() {
  return ["member", ...(shownPoint().inside ? ["weight to the others", "weight to all"] : []), ...(page.isMap ? ["latitude", "longitude"] : [])];
}

function showMembers() {
  const point = shownPoint();
  showTable("members", membersState, memberHeads(), memberRows());
  byId("members-note").textContent = `${pointName(position)}.` + (point.members.length < point.k ? ` The page holds the ${point.members.length} best connected of ${point.k}.` : "") + " Click a heading to sort.";
}

function showPoint() {
  const point = shownPoint();
  membersState.all = false;
  if (page.points.length > 1) {
    const proof = point.optimal ? "proven best" : point.gap === null ? "no proof" : `gap ${percent(point.gap)}`;
    byId("k-shown").textContent = `${pointName(position)}: ${compact(point.density)}, ${proof}`;
    byId("slider").setAttribute("aria-valuetext", `${pointName(position)}, density ${compact(point.density)}`);
    byId("says").textContent = point.says;
    byId("back").disabled = position === page.opening;
    moveMark("curve", across(position), point.density, curveSays());
  }
  if (page.xy) draw("drawing");
  showMembers();
}

function curveRows() {
  return [["k", "density", "edge_density", "upper_bound", "relative_gap", "proven_best", "members"], ...page.points.map((p) =>
    [p.k, p.density, p.edgeDensity, p.upper, p.gap, p.optimal ? "yes" : p.gap === null ? "unknown" : "no", p.members.map((node) => page.nodes[node]).join("; ")])];
}

function begin(payload) {
  page = payload;
  position = page.opening;
  if (page.xy) pictures.set("drawing", drawingPicture);
  if (page.points.length > 1) {
    pictures.set("curve", curvePicture);
    const slider = byId("slider"), show = oncePerFrame(showPoint);
    slider.max = String(page.points.length - 1);
    slider.value = String(position);
    slider.oninput = () => { position = Number(slider.value); show(); };
    byId("back").onclick = () => { position = page.opening; slider.value = String(position); show(); };
    byId("curve-csv").onclick = () => offerCsv("density_curve.csv", curveRows());
  }
  if (page.points.length > 1) draw("curve");
  showPoint();
  byId("members-csv").onclick = () => offerCsv(`members_k${shownPoint().k}.csv`, [memberHeads(), ...memberRows()]);
  byId("answer-json").onclick = () => offerJson("result.json", page.results);
}

start(begin);
