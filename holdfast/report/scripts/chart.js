// One chart: lines over rounds, a cursor, and the line nearest to the pointer.

const HEIGHT = 210;
const MARGIN = { left: 42, right: 14, top: 10, bottom: 34 };
const LABEL = { height: 14, gap: 8, letter: 7.4, share: 0.38 }; // of a line, beside its end
const N_MARKERS = 6;
const FEW = 5; // up to so many lines, the range of the seeds is drawn, too

const MARKERS = [
  "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0",
  "M-3,-3h6v6h-6z",
  "M0,-4.2L4,3.2H-4z",
  "M0,-4.4L4.4,0L0,4.4L-4.4,0z",
  "M0,4.2L4,-3.2H-4z",
  "M-4,-1.2h2.8v-2.8h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8z",
  "M-4,-2.6L-2.6,-4L0,-1.4L2.6,-4L4,-2.6L1.4,0L4,2.6L2.6,4L0,1.4L-2.6,4L-4,2.6L-1.4,0z",
];

const lookOf = (line) => `line colour-${line.colour} dash-${line.dash}`;

function niceRounds(nRounds, width) {
  const wanted = Math.max(2, Math.min(10, Math.floor(width / 60)));
  const step = [1, 5, 10, 25, 50, 100, 250, 500, 1000].find((one) => nRounds / one <= wanted) || nRounds;
  const ticks = [1];
  for (let round = step; round <= nRounds; round += step) if (round > 1 + step / 3) ticks.push(round);
  return ticks;
}

// The numbers' own range, in steps of a twentieth.
function fitting(points) {
  if (!points.length) return [0, 1];
  const low = Math.floor(20 * Math.min(...points.map((point) => point.low))) / 20;
  const high = Math.ceil(20 * Math.max(...points.map((point) => point.high))) / 20;
  return [Math.max(Math.min(low, high - 0.05), 0), Math.min(Math.max(high, 0.05), 1)];
}

// How much room the labels take beside the lines, and how many letters fit into it.
function labelRoom(lines, width) {
  const longest = Math.max(0, ...lines.map(({ row }) => row.length));
  const room = Math.min(longest * LABEL.letter + LABEL.gap + 4, Math.max(LABEL.share * width, 90));
  return { room, most: Math.max(Math.floor((room - LABEL.gap - 4) / LABEL.letter), 4) };
}

// The ends of a name that is too long.
function fittingName(name, most) {
  if (name.length <= most) return name;
  const first = Math.ceil((most - 1) / 2);
  return `${name.slice(0, first)}…${name.slice(name.length - (most - 1 - first))}`;
}

// Heights near the wanted ones, in order, none closer to the next than a line of text.
function spreadOut(wanted, low, high) {
  const placed = [...wanted].sort((one, other) => one.at - other.at);
  placed.forEach((one, place) => { one.y = Math.max(one.at, place ? placed[place - 1].y + LABEL.height : low); });
  for (let place = placed.length - 1; place >= 0; place -= 1) {
    placed[place].y = Math.min(placed[place].y, place === placed.length - 1 ? high : placed[place + 1].y - LABEL.height);
  }
  return placed;
}

function makeChart(metric, { pointed, left }) {
  const picture = draw("svg", { class: "chart", role: "img", height: HEIGHT });
  const tip = make("div", { class: "tip", hidden: true });
  const frame = make("figure", { class: "frame", "data-metric": metric.name },
    make("figcaption", {}, metric.heading), make("div", { class: "plot" }, picture, tip));
  let state = { lines: [], nRounds: 1, width: 300, fit: false };
  let range = [0, 1];
  let right = MARGIN.right; // the margin in which the labels stand

  const x = (round) => {
    const room = state.width - MARGIN.left - right;
    return MARGIN.left + (state.nRounds === 1 ? room / 2 : ((round - 1) / (state.nRounds - 1)) * room);
  };
  const y = (share) => {
    const part = (Math.min(Math.max(share, range[0]), range[1]) - range[0]) / (range[1] - range[0]);
    return MARGIN.top + (1 - part) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  };

  function axes() {
    const bottom = HEIGHT - MARGIN.bottom;
    const shares = [0, 0.25, 0.5, 0.75, 1].map((part) => range[0] + part * (range[1] - range[0])).flatMap((share) => [
      draw("line", { class: "grid", x1: MARGIN.left, x2: state.width - right, y1: y(share), y2: y(share) }),
      draw("text", { class: "tick", x: MARGIN.left - 6, y: y(share) + 4, "text-anchor": "end" }, `${Number((100 * share).toFixed(2))}%`),
    ]);
    const rounds = niceRounds(state.nRounds, state.width).map((round) =>
      draw("text", { class: "tick", x: x(round), y: bottom + 15, "text-anchor": "middle" }, String(round)));
    const name = draw("text", { class: "tick", x: state.width - right, y: HEIGHT - 4, "text-anchor": "end" }, "round");
    return [...shares, ...rounds, name];
  }

  function pieces(points) { // the stretches of rounds that have a number
    const all = [[]];
    points.forEach((point, index) => (point ? all.at(-1).push([index + 1, point]) : all.push([])));
    return all.filter((piece) => piece.length);
  }

  function band(line) {
    return pieces(line.series[metric.name]).map((piece) => {
      const high = piece.map(([round, point]) => `${x(round)},${y(point.high)}`);
      const low = piece.map(([round, point]) => `${x(round)},${y(point.low)}`).reverse();
      return draw("polygon", { class: `band colour-${line.colour}`, points: [...high, ...low].join(" ") });
    });
  }

  function curve(line) {
    const points = line.series[metric.name];
    const path = pieces(points)
      .map((piece) => `M${piece.map(([round, point]) => `${x(round).toFixed(1)},${y(point.mean).toFixed(1)}`).join("L")}`)
      .join("");
    const every = Math.max(1, Math.ceil(points.length / N_MARKERS));
    const marks = points.flatMap((point, index) => (point && (index + 1 + line.marker) % every === 0
      ? [draw("path", { d: MARKERS[line.marker], transform: `translate(${x(index + 1)},${y(point.mean)})` })] : []));
    return draw("g", { class: lookOf(line), "data-row": line.row },
      draw("path", { class: "stroke", d: path }), draw("g", { class: "marks" }, ...marks));
  }

  // Each line is named at its end, so that nobody has to look for its colour in a legend.
  function labels(lines, most) {
    const ends = lines.map((line) => {
      const points = line.series[metric.name];
      const round = points.findLastIndex(Boolean) + 1;
      return { line, from: [x(round), y(points[round - 1].mean)], at: y(points[round - 1].mean) };
    });
    return spreadOut(ends, MARGIN.top + 4, HEIGHT - MARGIN.bottom).map(({ line, from, y: height }) =>
      draw("g", { class: `named colour-${line.colour}`, "data-row": line.row },
        draw("path", { class: "lead", d: `M${from[0] + 2},${from[1]}L${state.width - right + LABEL.gap - 2},${height}` }),
        draw("text", { class: "label", x: state.width - right + LABEL.gap, y: height + 4 }, fittingName(line.row, most), draw("title", {}, line.row))));
  }

  const cursor = draw("g", { class: "cursor" });

  function show(next) {
    state = { ...state, ...next };
    const shown = state.lines.filter((line) => line.series[metric.name].some(Boolean));
    range = state.fit ? fitting(shown.flatMap((line) => line.series[metric.name]).filter(Boolean)) : [0, 1];
    const { room, most } = labelRoom(shown, state.width);
    right = shown.length ? Math.max(room, MARGIN.right) : MARGIN.right;
    picture.setAttribute("viewBox", `0 0 ${state.width} ${HEIGHT}`);
    picture.setAttribute("aria-label",
      `${metric.heading}, by round: ${shown.map((line) => line.row).join(", ") || "no line is shown"}.`
      + " The numbers of a round are in the table beside it.");
    picture.replaceChildren(...axes(), ...(shown.length <= FEW ? shown.flatMap(band) : []), ...shown.map(curve), ...labels(shown, most), cursor);
    if (!shown.length) {
      picture.append(draw("text", { class: "tick", x: state.width / 2, y: HEIGHT / 2, "text-anchor": "middle" },
        state.lines.length ? "no numbers of this kind" : "no line is shown"));
    }
  }

  // The line whose mean is nearest to a height, in a round.
  function nearest(round, height) {
    const near = state.lines
      .map((line) => ({ line, point: line.series[metric.name][round - 1] }))
      .filter(({ point }) => point)
      .map((one) => ({ ...one, distance: Math.abs(y(one.point.mean) - height) }));
    return near.length ? near.reduce((best, one) => (one.distance < best.distance ? one : best)) : null;
  }

  function mark(round, row) {
    const dots = state.lines.flatMap((line) => {
      const point = line.series[metric.name][round - 1];
      return point ? [draw("circle", { class: `dot colour-${line.colour}`, cx: x(round), cy: y(point.mean), r: 3.5 })] : [];
    });
    cursor.replaceChildren(
      draw("line", { class: "rule", x1: x(round), x2: x(round), y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }), ...dots);
    for (const group of picture.querySelectorAll("[data-row]")) {
      group.classList.toggle("faint", row !== null && group.dataset.row !== row);
    }
  }

  function tell(round, found) {
    tip.hidden = !found;
    if (!found) return;
    const { line, point } = found;
    const range = point.n > 1 ? ` (${percent(point.low)} to ${percent(point.high)}, ${point.n} seeds)` : "";
    tip.replaceChildren(make("b", {}, line.row), ` round ${round}: ${metric.title} ${percent(point.mean)}%${range}`);
    const beyond = x(round) > state.width / 2;
    tip.style.left = beyond ? "auto" : `${x(round) + 10}px`;
    tip.style.right = beyond ? `${state.width - x(round) + 10}px` : "auto";
    tip.style.top = `${Math.min(Math.max(y(point.mean) - 14, 0), HEIGHT - 60)}px`;
  }

  function hear(event) {
    const box = picture.getBoundingClientRect();
    const across = ((event.clientX - box.left) / box.width) * state.width;
    const room = state.width - MARGIN.left - right;
    const round = 1 + Math.round(((across - MARGIN.left) / room) * (state.nRounds - 1));
    const within = Math.min(Math.max(round, 1), state.nRounds);
    const found = nearest(within, ((event.clientY - box.top) / box.height) * HEIGHT);
    pointed(within, found ? found.line.row : null);
    tell(within, found);
  }

  picture.addEventListener("pointermove", hear);
  picture.addEventListener("pointerdown", hear);
  picture.addEventListener("pointerleave", () => { tell(0, null); left(); });
  return { frame, show, mark, plot: picture.parentNode };
}
