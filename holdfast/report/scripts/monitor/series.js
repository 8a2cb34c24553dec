// Numbers of the rounds as lines: what is known of them.

const SERIES = [
  { title: "Accuracy and attack success", isShare: true, lines: [["accuracy", "accuracy", 0], ["attack_success", "attack success", 1]] },
  { title: "Loss", lines: [["loss", "loss", 3]] },
  { title: "Kept: share of the coordinates that the mask keeps", isShare: true, lines: [["kept_fraction", "kept", 2]] },
  { title: "Replies per round", isCount: true, lines: [["n_asked", "asked", 4], ["n_used", "used", 0], ["n_dropped", "not used", 1]] },
  { title: "Seconds of the server per round", lines: [["seconds", "seconds", 5]] },
];
const PLOT = { height: 180, left: 48, right: 12, top: 10, bottom: 32 };

const written = (value, { isShare, isCount }) => (isShare ? `${percent(value)} %` : isCount ? String(value) : String(Number(value.toPrecision(3))));

function topOf(values, { isShare }) {
  if (isShare) return 1;
  const most = Math.max(...values, 1e-9);
  const power = 10 ** Math.floor(Math.log10(most));
  return power * [1, 1.5, 2, 3, 5, 7.5, 10].find((one) => one * power >= most * 0.9999);
}

function makeSeries(own) {
  const picture = draw("svg", { class: "chart", role: "img", height: PLOT.height });
  const said = make("p", { class: "said numbers" });
  const frame = make("figure", { class: "frame" }, make("figcaption", {}, own.title), picture, said);
  let [rounds, lines, width, marked] = [[], [], 300, null];

  const x = (place) => PLOT.left + (rounds.length < 2 ? 0.5 : place / (rounds.length - 1)) * (width - PLOT.left - PLOT.right);

  function pathOf(values, y) {
    let [path, isDown] = ["", false];
    values.forEach((value, place) => {
      if (isNumber(value)) path += `${isDown ? "L" : "M"}${x(place).toFixed(1)},${y(value).toFixed(1)}`;
      isDown = isNumber(value);
    });
    return path;
  }

  function show(next, room) {
    [rounds, width] = [next, room];
    lines = own.lines.map(([name, title, colour]) => ({ title, colour, values: rounds.map((one) => one[name]) }))
      .filter(({ values }) => values.some((value) => isNumber(value) && (value || own.lines.length < 3)));
    frame.hidden = !lines.length;
    if (frame.hidden) return;
    const top = topOf(lines.flatMap(({ values }) => values.filter(isNumber)), own);
    const y = (value) => PLOT.top + (1 - Math.min(Math.max(value / top, 0), 1)) * (PLOT.height - PLOT.top - PLOT.bottom);
    const grid = [0, 0.5, 1].flatMap((part) => [
      draw("line", { class: "grid", x1: PLOT.left, x2: width - PLOT.right, y1: y(part * top), y2: y(part * top) }),
      draw("text", { class: "tick", x: PLOT.left - 6, y: y(part * top) + 4, "text-anchor": "end" }, own.isShare ? `${100 * part}%` : String(Number((part * top).toPrecision(3))))]);
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000].find((one) => (rounds.length / one) * 40 <= width) || rounds.length;
    const ticks = rounds.flatMap(({ round }, place) => (round % every ? [] : [
      draw("text", { class: "tick", x: x(place), y: PLOT.height - PLOT.bottom + 16, "text-anchor": "middle" }, String(round))]));
    const drawn = lines.flatMap(({ colour, values }) => [
      draw("g", { class: `line colour-${colour}` }, draw("path", { class: "stroke", d: pathOf(values, y) })),
      ...(values.filter(isNumber).length === 1 ? values.flatMap((value, place) => (isNumber(value) ? [draw("circle", { class: `dot colour-${colour}`, cx: x(place), cy: y(value), r: 3 })] : [])) : [])]);
    picture.setAttribute("viewBox", `0 0 ${width} ${PLOT.height}`);
    picture.replaceChildren(...grid, ...ticks, ...drawn, draw("line", { class: "rule cursor", y1: PLOT.top, y2: PLOT.height - PLOT.bottom }),
      draw("text", { class: "tick", x: width - PLOT.right, y: PLOT.height - 3, "text-anchor": "end" }, "round"));
    mark(marked);
  }

  function mark(round) {
    marked = round;
    if (frame.hidden || !rounds.length) return;
    const found = rounds.findIndex((one) => one.round === round);
    const place = found < 0 ? rounds.length - 1 : found;
    const line = picture.querySelector(".cursor");
    for (const end of ["x1", "x2"]) line?.setAttribute(end, x(place));
    said.replaceChildren(`Round ${rounds[place].round}: `, ...lines.flatMap(({ title, colour, values }, index) => [index ? ", " : "",
      make("span", { class: `dash colour-${colour}` }), ` ${title} ${isNumber(values[place]) ? written(values[place], own) : "–"}`]));
    picture.setAttribute("aria-label", `${own.title}. ${said.textContent}`);
  }

  return { frame, show, mark };
}
