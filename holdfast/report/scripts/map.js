// The map of clients: across, how far each stands off the crowd; up and down, where it is within the crowd.

const MAP = { left: 34, right: 12, top: 12, bottom: 40 };
const RING = 7.5; // the radius
const CROWD = 3; // so many deviations of the crowd are drawn as its ground
const LETTERS = { width: 7.5, height: 13, most: 12 };
const N_NAMES = 60; // of so many clients the names are tried: more find no room

// The ends of a long name, which tell it from others.
const shortened = (text) => (text.length > LETTERS.most ? `${text.slice(0, 5)}…${text.slice(-6)}` : text);

function niceSteps(low, high, most) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((one) => (high - low) / one <= most) || high - low;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, place) => (first + place) * step);
}

// One range for all rounds, so that only clients move.
function rangesOf(frames) {
  const places = frames.flatMap(({ clients }) => [...clients.values()].map(({ place }) => place));
  const x = places.map(([first]) => first);
  const reach = 1.1 * places.reduce((most, [, second]) => Math.max(most, Math.abs(second)), CROWD);
  const low = 1.1 * x.reduce((least, one) => Math.min(least, one), -CROWD - 0.5);
  return { x: [low, 1.05 * x.reduce((most, one) => Math.max(most, one), 2 * CROWD)], y: [-reach, reach] };
}

// [client] where its name stands beside its dot, if there is room: no name covers a dot or another name.
function placeNames(dots, width, height) {
  const reach = ({ attacks }) => (attacks ? RING + 1 : 5);
  const taken = dots.map((one) => [one.x - reach(one), one.y - reach(one), one.x + reach(one), one.y + reach(one)]);
  const isFree = ([left, top, right, bottom]) => left > MAP.left && right < width && top > 0 && bottom < height - MAP.bottom
    && taken.every((one) => right < one[0] || left > one[2] || bottom < one[1] || top > one[3]);
  return new Map(dots.filter(isOutside).slice(0, N_NAMES).flatMap((one) => {
    const { client, x, y } = one;
    const wide = shortened(client).length * LETTERS.width;
    const half = LETTERS.height / 2;
    const off = reach(one) + 1;
    const box = [[x + off, y - half], [x - off - wide, y - half], [x - wide / 2, y - off - LETTERS.height], [x - wide / 2, y + off]]
      .map(([left, top]) => [left, top, left + wide, top + LETTERS.height]).find(isFree);
    if (!box) return [];
    taken.push(box);
    return [[client, [(box[0] + box[2]) / 2 - x, box[3] - 3 - y]]];
  }));
}

function makeMap({ pointed, left }) {
  const picture = draw("svg", { class: "chart map", role: "img" });
  const [ground, paths, dots] = ["ground", "paths", "dots"].map((name) => draw("g", { class: name }));
  picture.append(ground, paths, dots);
  const plot = make("div", { class: "plot" }, picture);
  let frames = [];
  let marks = new Map();
  let width = 300;
  let height = 300;
  let x = (value) => value;
  let y = (value) => value;

  function axes(ranges) {
    const across = niceSteps(...ranges.x, Math.floor(width / 60)).flatMap((value) => [
      draw("line", { class: "grid", x1: x(value), x2: x(value), y1: MAP.top, y2: height - MAP.bottom }),
      draw("text", { class: "tick", x: x(value), y: height - MAP.bottom + 15, "text-anchor": "middle" }, String(value))]);
    const up = niceSteps(...ranges.y, 6).map((value) =>
      draw("text", { class: "tick", x: MAP.left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)));
    return [...across, ...up,
      draw("ellipse", { class: "crowd", cx: x(0), cy: y(0), rx: x(CROWD) - x(0), ry: y(0) - y(CROWD) }),
      draw("text", { class: "tick", x: x(0), y: y(-CROWD) - 6, "text-anchor": "middle" }, "crowd"),
      draw("text", { class: "tick", x: MAP.left + 6, y: MAP.top + 10 }, "↕ within the crowd"),
      draw("text", { class: "tick", x: width - MAP.right, y: height - 6, "text-anchor": "end" }, "off the crowd, in its deviations →")];
  }

  function dotOf(client, attacks) {
    const mark = draw("g", { class: "client", "data-client": client, "data-attacks": attacks || null },
      attacks ? draw("circle", { class: "ring", r: RING }) : null, draw("path", {}), draw("circle", { class: "sensor", r: 9 }),
      draw("text", { class: "who", "text-anchor": "middle" }, shortened(client)));
    mark.addEventListener("pointerenter", () => pointed(client));
    mark.addEventListener("pointerleave", left);
    return mark;
  }

  function show(next, room) {
    frames = next;
    width = room;
    height = Math.round(Math.min(Math.max(0.72 * width, 260), 400));
    const ranges = rangesOf(frames);
    const across = (width - MAP.left - MAP.right) / (ranges.x[1] - ranges.x[0]);
    const up = (height - MAP.top - MAP.bottom) / (ranges.y[1] - ranges.y[0]);
    x = (value) => MAP.left + (value - ranges.x[0]) * across;
    y = (value) => MAP.top + (ranges.y[1] - value) * up;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("height", height);
    ground.replaceChildren(...axes(ranges));
    const all = frames.flatMap((frame) => [...frame.clients.values()]);
    marks = new Map(all.map((one) => [one.client, one])); // each client once
    for (const [client, { attacks }] of marks) marks.set(client, dotOf(client, attacks));
    const outside = new Set(all.filter(isOutside).map(({ client }) => marks.get(client)));
    dots.replaceChildren(...[...marks.values()].filter((dot) => !outside.has(dot)), ...outside); // on top of the others
  }

  // The way that a client came, up to a frame.
  function pathOf(client, index, look) {
    const places = frames.slice(0, index + 1).flatMap((frame) => (frame.clients.has(client) ? [frame.clients.get(client).place] : []));
    return draw("path", { class: `path ${look}`, d: `M${places.map((place) => `${x(place[0]).toFixed(1)},${y(place[1]).toFixed(1)}`).join("L")}` });
  }

  function mark(index, near) {
    const { clients } = frames[index];
    const shown = [...clients.values()].map((one) => ({ ...one, x: x(one.place[0]), y: y(one.place[1]) }));
    for (const [client, dot] of marks) dot.toggleAttribute("hidden", !clients.has(client));
    const names = placeNames(shown, width, height);
    for (const one of shown) {
      const dot = marks.get(one.client);
      dot.setAttribute("class", `client ${one.standing.look}${near === one.client ? " near" : ""}`);
      dot.querySelector("path").setAttribute("d", MARKERS[one.standing.marker]);
      const name = dot.querySelector(".who");
      const [right, down] = names.get(one.client) || [0, 0];
      name.toggleAttribute("hidden", !names.has(one.client));
      for (const [axis, by] of [["x", right], ["y", down]]) name.setAttribute(axis, by.toFixed(1));
      dot.style.transform = `translate(${one.x}px, ${one.y}px)`;
    }
    const followed = shown.filter((one) => ["expelled", "counts as one"].includes(one.standing.name) || one.client === near);
    paths.replaceChildren(...followed.map(({ client, standing }) => pathOf(client, index, `${standing.look}${near === client ? " near" : ""}`)));
  }

  return { plot, picture, show, mark };
}
