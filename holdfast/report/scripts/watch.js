// What a watch saw: the map of clients and the timeline, one run at a time; a slider, or time, moves the round.

const PACE = 450; // milliseconds that a round takes when the rounds are played

function runsWithWatch(results, experiment) {
  return experiment.cells.flatMap((cell) => listed(cell.keys).flatMap((key) => {
    const run = results.runs[key];
    const frames = run && run.watch ? framesOf(run.watch) : [];
    return frames.length ? [{ key, watch: run.watch, frames, name: `${cell.row}, ${cell.column}, seed ${run.seed}` }] : [];
  }));
}

function keyOf({ look, marker }) {
  return draw("svg", { class: "sign-key", viewBox: "-6 -6 12 12", width: 12, height: 12, "aria-hidden": "true" },
    draw("g", { class: `client ${look}` }, draw("path", { d: MARKERS[marker] })));
}

function watchLegend(frames) {
  const known = frames.some(({ clients }) => [...clients.values()].some(({ attacks }) => attacks));
  const ring = draw("svg", { class: "sign-key", viewBox: "-9 -9 18 18", width: 14, height: 14, "aria-hidden": "true" }, draw("circle", { class: "ring", r: RING }));
  return make("ul", { class: "keys" }, ...STANDINGS.map((one) => make("li", {}, keyOf(one), one.name)),
    known ? make("li", {}, ring, "really attacks (the server does not know)") : null);
}

function verdictTable(frame, known) {
  const rows = [...frame.clients.values()]
    .sort((one, other) => STANDINGS.indexOf(one.standing) - STANDINGS.indexOf(other.standing))
    .map((one) => make("tr", {}, make("th", { scope: "row" }, one.client), known ? make("td", {}, one.attacks ? "attacker" : "honest") : null,
      ...[one.standing.name, one.since, one.faction, one.heard, isAccused(one) ? odds(one.false_alarm) : null, ...one.place.map((part) => Number(part.toFixed(1)) || 0)]
        .map((value) => make("td", {}, String(value ?? "–")))));
  const heads = ["client", ...(known ? ["is"] : []), "standing", "since round", "faction", "heard", "false alarm", "off the crowd", "within it"];
  return make("table", { class: "plain" }, make("caption", {}, make("span", {}, `The verdicts after round ${frame.round}`)),
    make("thead", {}, make("tr", {}, ...heads.map((title) => make("th", { scope: "col" }, title)))), make("tbody", {}, ...rows));
}

function timelineTitle(nShown, nOthers) {
  if (!nShown) return `Timeline: none of ${nOthers} clients was ever suspected`;
  const drawn = nShown > TIMELINE.mostRows ? `, the first ${TIMELINE.mostRows} of whom are drawn` : "";
  const others = nOthers ? `; of the other ${nOthers}, none was ever suspected` : "";
  return `Timeline of ${nShown} client${nShown > 1 ? "s" : ""}${drawn}${others}`;
}

// The frames of one watch, drawn into a place of their own.
function makeWatch({ watch, frames, name }) {
  const known = listed(watch.malicious).length > 0;
  const state = { index: frames.length - 1, near: null, timer: null };
  const slider = make("input", { type: "range", min: 0, max: frames.length - 1, step: 1, "aria-label": "Round of the map" });
  const play = make("button", { type: "button", class: "play" }, "Play");
  const whole = make("p", { class: "summary" });
  const said = make("p", { class: "said" });
  const table = make("details", { class: "verdicts" }, make("summary", {}, "As a table"));
  const map = makeMap({ pointed: (client) => { state.near = client; tell(); }, left });
  const timeline = makeTimeline({
    pointed: (round, client) => {
      const later = frames.findIndex((frame) => frame.round >= round);
      Object.assign(state, { index: later < 0 ? frames.length - 1 : later, near: client });
      tell();
    },
    left,
  });

  function left() { state.near = null; tell(); }

  function tell() {
    const frame = frames[state.index];
    const words = `After round ${frame.round} of ${frames.at(-1).round}: ${frameWords(frame)}.`;
    slider.value = state.index;
    slider.setAttribute("aria-valuetext", words);
    whole.textContent = words;
    map.picture.setAttribute("aria-label", `Map of clients, ${name}. ${words} The verdicts are in the table below.`);
    map.mark(state.index, state.near);
    timeline.mark(frame.round, state.near);
    said.textContent = frame.clients.has(state.near) ? verdictWords(frame.clients.get(state.near), known) : "Point at a client for its verdict.";
    if (table.open) table.replaceChildren(table.firstChild, make("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Verdicts" }, verdictTable(frame, known)));
  }

  function redraw() {
    const [own, other] = [map, timeline].map(({ plot }) => Math.max(plot.clientWidth, 240)); // before anything is drawn
    map.show(frames, own);
    timeline.show(frames, watch, other);
    tell();
  }

  function pause() {
    clearInterval(state.timer);
    state.timer = null;
    play.textContent = "Play";
  }

  function advance() {
    state.index = Math.min(state.index + 1, frames.length - 1);
    if (state.index === frames.length - 1) pause();
    tell();
  }

  play.addEventListener("click", () => {
    if (state.timer !== null) return pause();
    if (state.index === frames.length - 1) state.index = 0;
    state.timer = setInterval(advance, PACE);
    play.textContent = "Pause";
    return tell();
  });
  slider.addEventListener("input", () => { pause(); state.index = Number(slider.value); tell(); });
  table.addEventListener("toggle", tell);

  const nShown = rowsOf(frames).length;
  const nAll = new Set(frames.flatMap(({ clients }) => [...clients.keys()])).size;
  timeline.picture.setAttribute("aria-label", `Timeline, ${name}: ${nShown} of ${nAll} clients were suspected or expelled${known ? ", or attack" : ""}. The table below tells them by round.`);
  const drawn = make("div", { class: "watched" },
    make("div", { class: "slider", hidden: frames.length < 2 }, play, make("label", { class: "slider" }, "Round", slider)), whole, watchLegend(frames),
    make("div", { class: "panel" }, make("figure", { class: "frame" }, make("figcaption", {}, "Map of clients"), map.plot),
      make("figure", { class: "frame" }, make("figcaption", {}, timelineTitle(nShown, nAll - nShown)), timeline.plot)),
    said, make("p", { class: "quiet" }, WATCH_CAPTION), table);
  new ResizeObserver(redraw).observe(drawn);
  redraw();
  return drawn;
}

const WATCH_CAPTION = "The map places each client by how it voted in all rounds so far: the further to the right, the further off"
  + " the crowd, which is the ground drawn around 0. The timeline shows when clients were suspected and expelled; during the hearing,"
  + " the shaded rounds, the server only listens.";

function makeWatches(place, results, experiment) {
  const runs = runsWithWatch(results, experiment);
  if (!runs.length) return;
  const select = make("select", {}, ...runs.map(({ key, name }) => make("option", { value: key }, name)));
  const room = make("div");
  const choose = () => room.replaceChildren(makeWatch(runs.find(({ key }) => key === select.value)));
  select.addEventListener("change", choose);
  place.append(make("h3", {}, "Who was found"), make("label", { class: "chooser", hidden: runs.length < 2 }, "Run ", select), room);
  choose();
}
