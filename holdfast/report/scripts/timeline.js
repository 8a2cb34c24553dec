// The timeline of a watch: rounds across, one row per client of whom there is something to say.

const TIMELINE = { right: 12, top: 20, bottom: 36, height: 300, mostRows: 150 };
const THICKNESS = { expelled: 0.42, suspected: 0.25 }; // of a stretch, as a half of its row

// What was said of a client over the rounds: stretches of one standing. Of a client that is expelled when the
// frames begin, it is known since when.
function stretchesOf(client, frames) {
  const found = [];
  frames.forEach((frame, index) => {
    const one = frame.clients.get(client);
    if (!one) return;
    const last = found.at(-1);
    if (last && last.look === one.standing.look) {
      last.end = frame.round;
    } else {
      const known = index === 0 && isNumber(one.since) ? one.since : frame.round;
      found.push({ look: one.standing.look, start: index ? frames[index - 1].round + 1 : known, end: frame.round });
    }
  });
  return found;
}

// Those who were ever expelled, in the order in which they were, then those suspected, then attackers missed.
function rowsOf(frames) {
  const clients = new Map(frames.flatMap((frame) => [...frame.clients.values()].map((one) => [one.client, one.attacks])));
  const rows = [...clients].map(([client, attacks]) => {
    const stretches = stretchesOf(client, frames);
    const first = (look) => (stretches.find((one) => one.look === look) || { start: Infinity }).start;
    return { client, attacks, stretches, order: [Math.min(first("expelled"), first("as-one")), first("suspected")] };
  }).filter(({ attacks, order }) => attacks || order.some(Number.isFinite));
  const before = (one, other) => (one === other ? 0 : one - other);
  return rows.sort((one, other) => before(one.order[0], other.order[0]) || before(one.order[1], other.order[1]));
}

// Numbers that follow each other, as stretches.
function stretched(numbers) {
  return numbers.filter(isNumber).reduce((all, number) => {
    if (all.length && all.at(-1)[1] === number - 1) all.at(-1)[1] = number;
    else all.push([number, number]);
    return all;
  }, []);
}

function makeTimeline({ pointed, left }) {
  const picture = draw("svg", { class: "chart timeline", role: "img" });
  const plot = make("div", { class: "plot" }, picture);
  const cursor = draw("g", { class: "cursor" });
  let state = { rows: [], nRounds: 1, left: 60, width: 300, step: 10, height: 100 };

  const x = (round) => state.left + ((round - 1) / state.nRounds) * (state.width - state.left - TIMELINE.right);
  const bottom = () => state.height - TIMELINE.bottom;

  function rowOf({ client, attacks, stretches }, place) {
    const top = TIMELINE.top + place * state.step;
    const middle = top + state.step / 2;
    const isRead = state.step >= 11;
    return draw("g", { class: "row", "data-client": client, "data-attacks": attacks || null },
      attacks ? draw("circle", { class: "ring", cx: state.left - 9, cy: middle, r: Math.min(4, state.step / 2) }) : null,
      isRead ? draw("text", { class: "tick", x: state.left - 18, y: middle + 4, "text-anchor": "end" }, shortened(client)) : null,
      ...stretches.map(({ look, start, end }) => {
        const half = (THICKNESS[look] || 0.06) * state.step;
        return draw("rect", { class: `stretch ${look}`, x: x(start), width: x(end + 1) - x(start), y: middle - half, height: 2 * half });
      }));
  }

  function show(frames, { hearings, rewinds }, width) {
    const rows = rowsOf(frames).slice(0, TIMELINE.mostRows);
    const step = Math.min(Math.max(TIMELINE.height / Math.max(rows.length, 1), 3), 16);
    const height = TIMELINE.top + Math.max(rows.length * step, 40) + TIMELINE.bottom;
    const longest = Math.max(6, ...rows.map(({ client }) => shortened(client).length)); // "client" has six letters
    state = { rows, left: 22 + longest * LETTERS.width, width, step, height, nRounds: frames.at(-1).round };
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("height", height);
    const heard = stretched(listed(hearings)).flatMap(([start, end]) => [
      draw("rect", { class: "hearing", x: x(start), width: x(end + 1) - x(start), y: TIMELINE.top - 4, height: bottom() - TIMELINE.top + 4 }),
      x(end + 1) - x(start) > 46 ? draw("text", { class: "tick", x: x(start) + 2, y: TIMELINE.top - 8 }, "hearing") : null]);
    const back = listed(rewinds).filter(isNumber).flatMap((round) => [
      draw("line", { class: "rule", x1: x(round), x2: x(round), y1: TIMELINE.top - 4, y2: bottom() }),
      draw("text", { class: "tick", x: x(round) + 2, y: TIMELINE.top - 8 }, "rewind")]);
    const ticks = niceRounds(state.nRounds, width - state.left).map((round) =>
      draw("text", { class: "tick", x: (x(round) + x(round + 1)) / 2, y: bottom() + 15, "text-anchor": "middle" }, String(round)));
    picture.replaceChildren(...[...heard, ...back].filter(Boolean), ...rows.map(rowOf), ...ticks,
      draw("line", { class: "grid", x1: state.left, x2: width - TIMELINE.right, y1: bottom(), y2: bottom() }),
      draw("text", { class: "tick", x: state.left - 18, y: TIMELINE.top - 8, "text-anchor": "end" }, rows.length ? "client" : ""),
      draw("text", { class: "tick", x: width - TIMELINE.right, y: height - 4, "text-anchor": "end" }, "round"), cursor);
    if (!rows.length) {
      picture.append(draw("text", { class: "tick", x: x(1) + 6, y: TIMELINE.top + 24 }, "Nobody was suspected."));
    }
  }

  function mark(round, near) {
    cursor.replaceChildren(draw("rect", { class: "now", x: x(round), width: Math.max(x(round + 1) - x(round), 1), y: TIMELINE.top - 4, height: bottom() - TIMELINE.top + 4 }));
    for (const row of picture.querySelectorAll(".row")) row.classList.toggle("near", row.dataset.client === near);
  }

  function hear(event) {
    const box = picture.getBoundingClientRect();
    const across = ((event.clientX - box.left) / box.width) * state.width;
    const down = ((event.clientY - box.top) / box.height) * state.height;
    const round = 1 + Math.floor(((across - state.left) / (state.width - state.left - TIMELINE.right)) * state.nRounds);
    const row = state.rows[Math.floor((down - TIMELINE.top) / state.step)];
    pointed(Math.min(Math.max(round, 1), state.nRounds), row ? row.client : null);
  }

  picture.addEventListener("pointermove", hear);
  picture.addEventListener("pointerdown", hear);
  picture.addEventListener("pointerleave", left);
  return { plot, picture, show, mark };
}
