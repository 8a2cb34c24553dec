// The timeline: one row per client, the most suspicious first. Of thousands, only the rows in sight exist.

const STRIP = { height: 24, spare: 6, axis: 34 };

// One path for all rounds of a kind.
function ticksOf(letters, isWanted, x, draws) {
  let path = "";
  for (let place = 0; place < letters.length; place += 1) {
    if (isWanted(letters[place], place)) path += draws(x(place), x(place + 1));
  }
  return path;
}

function stripOf(memory, number, width) {
  const n = Math.max(memory.known.rounds.length, 1);
  const x = (place) => (place / n) * width;
  const letters = memory.known.fates[number] || "";
  const isOut = (letter, place) => memory.isKeptOut(number, place);
  const middle = 10;
  const stretches = memory.stretchesOfClient(number).map(({ look, start, end }) => {
    const half = 20 * (THICKNESS_OF[look] ?? 0.06);
    return draw("rect", { class: `stretch ${look}`, x: x(start), width: Math.max(x(end) - x(start), 0.5), y: middle - half, height: 2 * half });
  });
  const gap = width / n > 4 ? 0.8 : 0;
  const used = ticksOf(letters, (letter) => letter === "u", x, (left, right) => `M${left.toFixed(1)},21.5H${Math.max(right - gap, left + 0.5).toFixed(1)}`);
  const dropped = ticksOf(letters, (letter, place) => letter === "d" && !isOut(letter, place), x, (left, right) => `M${((left + right) / 2).toFixed(1)},2V18`);
  const out = ticksOf(letters, isOut, x, (left, right) => `M${((left + right) / 2 - 0.7).toFixed(1)},21.5h1.4`);
  return draw("svg", { class: "life", viewBox: `0 0 ${width} ${STRIP.height}`, width, height: STRIP.height, "aria-hidden": "true" },
    ...stretches, draw("path", { class: "took-part", d: used }), draw("path", { class: "left-out", d: out }), draw("path", { class: "was-dropped", d: dropped }),
    draw("line", { class: "now-line", x1: 0, x2: 0, y1: 0, y2: STRIP.height, visibility: "hidden" }));
}
const THICKNESS_OF = { expelled: 0.42, suspected: 0.25 };

// The rounds above the rows, hearings shaded, rewinds marked.
function axisOf(memory, width) {
  const { rounds } = memory.known;
  const n = Math.max(rounds.length, 1);
  const x = (place) => (place / n) * width;
  const hearings = stretched(rounds.flatMap(({ hearing }, place) => (hearing ? [place] : []))).flatMap(([start, end]) => [
    draw("rect", { class: "hearing", x: x(start), width: x(end + 1) - x(start), y: 0, height: STRIP.axis }),
    x(end + 1) - x(start) > 46 ? draw("text", { class: "tick", x: x(start) + 2, y: 12 }, "hearing") : null]).filter(Boolean);
  const back = rounds.flatMap(({ rewound, round }, place) => (rewound ? [
    draw("line", { class: "rule", x1: x(place), x2: x(place), y1: 0, y2: STRIP.axis }),
    draw("text", { class: "tick", x: Math.min(x(place) + 2, width - 42), y: 12 }, "rewind")] : []));
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000].find((step) => (n / step) * 34 <= width) || n;
  const ticks = rounds.flatMap(({ round }, place) => (round % every === 0 || (n === 1) ? [
    draw("text", { class: "tick", x: Math.min(Math.max((x(place) + x(place + 1)) / 2, 8), width - 8), y: 29, "text-anchor": "middle" }, String(round))] : []));
  return draw("svg", { class: "axis", viewBox: `0 0 ${width} ${STRIP.axis}`, width, height: STRIP.axis, "aria-hidden": "true" }, ...hearings, ...back, ...ticks);
}

// Numbers that follow each other, as stretches.
function stretched(numbers) {
  return numbers.reduce((all, number) => {
    if (all.length && all.at(-1)[1] === number - 1) all.at(-1)[1] = number;
    else all.push([number, number]);
    return all;
  }, []);
}

function makeStrips(memory, { chosen, pointed, left }) {
  const axis = make("div", { class: "strips-axis" });
  const room = make("div", { class: "strips-room", role: "presentation" });
  const list = make("div", { class: "strips", role: "listbox", tabindex: 0, "aria-label": "Clients, the most suspicious first" }, axis, room);
  const state = { rows: [], selected: null, width: 300, round: null };

  const inSight = () => {
    const first = Math.max(Math.floor(list.scrollTop / STRIP.height) - STRIP.spare, 0);
    return [first, Math.min(first + Math.ceil(list.clientHeight / STRIP.height) + 2 * STRIP.spare, state.rows.length)];
  };

  function rowOf(client, place) {
    const isSelected = client.number === state.selected;
    const row = make("div", { class: "strip", role: "option", id: `strip-${client.number}`, "data-client": client.name, "aria-label": clientWords(client),
      "aria-selected": String(isSelected), "aria-setsize": state.rows.length, "aria-posinset": place + 1 },
      make("span", { class: `who ${client.standing ? standingNamed(client.standing).look : ""}` }, client.standing ? keyOfStanding(client.standing) : null,
        make("bdi", {}, shortened(client.name)), client.banned ? make("b", { class: "banned" }, " banned") : client.remarks ? make("b", { class: "remarks" }, " !") : null),
      stripOf(memory, client.number, state.width));
    row.style.top = `${place * STRIP.height}px`;
    return row;
  }

  function keyOfStanding(name) {
    const { look, marker } = standingNamed(name);
    return draw("svg", { class: "sign-key", viewBox: "-6 -6 12 12", width: 12, height: 12, "aria-hidden": "true" },
      draw("g", { class: `client ${look}` }, draw("path", { d: MARKERS[marker] })));
  }

  function redraw() {
    const [first, end] = inSight();
    room.replaceChildren(...state.rows.slice(first, end).map((client, place) => rowOf(client, first + place)));
    const shown = state.rows.findIndex(({ number }) => number === state.selected);
    const isDrawn = shown >= first && shown < end;
    if (isDrawn) list.setAttribute("aria-activedescendant", `strip-${state.selected}`);
    else list.removeAttribute("aria-activedescendant");
    markRound();
  }

  function markRound() {
    const place = memory.placeOf(state.round);
    const middle = ((place + 0.5) / Math.max(memory.known.rounds.length, 1)) * state.width;
    for (const line of room.querySelectorAll(".now-line")) {
      line.setAttribute("visibility", place < 0 ? "hidden" : "visible");
      for (const end of ["x1", "x2"]) line.setAttribute(end, middle.toFixed(1));
    }
  }

  function show(rows) {
    state.rows = rows;
    room.style.height = `${rows.length * STRIP.height}px`;
    const names = parseFloat(getComputedStyle(list).getPropertyValue("--names")) || 96;
    state.width = Math.max(list.clientWidth - names - 8, 80);
    axis.replaceChildren(axisOf(memory, state.width));
    redraw();
  }

  function select(number, { reveal = false } = {}) {
    state.selected = number;
    const place = state.rows.findIndex((one) => one.number === number);
    if (reveal && place >= 0) {
      const top = place * STRIP.height;
      const room_ = list.clientHeight - STRIP.axis - STRIP.height;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top > list.scrollTop + room_) list.scrollTop = top - room_;
    }
    redraw();
  }

  function step(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || !state.rows.length) return;
    event.preventDefault();
    const now = state.rows.findIndex(({ number }) => number === state.selected);
    const next = Math.min(Math.max(now + steps[event.key], 0), state.rows.length - 1);
    chosen(state.rows[next].number, { reveal: true });
  }

  function clientAt(event) {
    const row = event.target.closest(".strip");
    return row ? state.rows.find(({ number }) => row.id === `strip-${number}`) : null;
  }

  list.addEventListener("scroll", redraw, { passive: true });
  list.addEventListener("keydown", step);
  room.addEventListener("click", (event) => { const found = clientAt(event); if (found) chosen(found.number, {}); });
  room.addEventListener("pointermove", (event) => {
    const box = event.target.closest("svg.life")?.getBoundingClientRect();
    const { rounds } = memory.known;
    if (!box || !rounds.length) return;
    const place = Math.floor(((event.clientX - box.left) / box.width) * rounds.length);
    const found = rounds[Math.min(Math.max(place, 0), rounds.length - 1)];
    pointed(found.round, clientAt(event));
  });
  room.addEventListener("pointerleave", left);
  return { list, show, select, mark: (round) => { state.round = round; markRound(); } };
}
