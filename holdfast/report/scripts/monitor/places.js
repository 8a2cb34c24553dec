// The map of clients, round by round: frames that the page has, others asked for when the slider comes to them.

const STEP = 450; // milliseconds that a round takes when the rounds are played

// The map as it is drawn: every client by its name, with what was said of it after that round.
function drawnFrame(memory, raw) {
  const { clients, rounds } = memory.known;
  const after = memory.placeOf(raw.round);
  const found = listed(raw.clients).flatMap((number, place) => {
    const client = clients.get(number);
    const xy = raw.xy.slice(2 * place, 2 * place + 2);
    if (!client || !xy.every(isNumber)) return [];
    const name = memory.standingAt(number, after);
    return [{ client: client.name, number, place: xy, standing: standingNamed(name), faction: listed(raw.factions)[place], attacks: false }];
  });
  return { round: raw.round, hears: Boolean(rounds[after]?.hearing), clients: new Map(found.map((one) => [one.client, one])) };
}

// Which way is up is arbitrary: every frame agrees with the one before, so that what is drawn stays where it is when
// rounds are added. Right is where those stand who were found; before, it is as in the frame after.
function agree(frames) {
  const turn = (frame, with_, axis) => {
    const own = [...frame.clients.values()];
    const sum = own.reduce((all, { client, place }) => all + place[axis] * (with_.clients.get(client)?.place[axis] ?? 0), 0);
    if (sum < 0) for (const { place } of own) place[axis] = -place[axis];
  };
  for (let index = 1; index < frames.length; index += 1) turn(frames[index], frames[index - 1], 1);
  for (let index = frames.length - 2; index >= 0; index -= 1) {
    if (![...frames[index].clients.values()].some(isOutside)) turn(frames[index], frames[index + 1], 0);
  }
}

// In the last round all is known of a client; of rounds before, where it stood.
function nearWords(memory, near, frame) {
  if (frame.round === memory.lastRound()?.round) return clientWords(memory.known.clients.get(near.number));
  return `Client ${near.client} after round ${frame.round}: ${near.standing.name}${isNumber(near.faction) ? `, votes with faction ${near.faction}` : ""}`;
}

function makePlaces(memory, { fetchFrame, chosen, moved }) {
  const slider = make("input", { type: "range", min: 0, step: 1, "aria-label": "Round of the map" });
  const play = make("button", { type: "button", class: "play" }, "Play");
  const whole = make("p", { class: "summary" });
  const said = make("p", { class: "said" }, "Point at a client for its verdict.");
  const state = { rounds: [], frames: [], place: 0, near: null, timer: null, follows: true, asked: new Set() };
  const map = makeMap({
    pointed: (client) => { state.near = client; tell(); },
    left: () => { state.near = null; tell(); },
  });
  map.plot.addEventListener("click", (event) => {
    const dot = event.target.closest(".client");
    const found = dot && state.frames.at(-1)?.clients.get(dot.dataset.client);
    if (found) chosen(found.number);
  });
  const nothing = make("p", { class: "quiet" }, "There is no map: no watch places the clients.");
  const controls = make("div", { class: "slider" }, play, make("label", { class: "slider" }, "Round", slider));
  const keys = make("ul", { class: "keys" }, ...STANDINGS.map(({ name, look, marker }) => make("li", {},
    draw("svg", { class: "sign-key", viewBox: "-6 -6 12 12", width: 12, height: 12, "aria-hidden": "true" },
      draw("g", { class: `client ${look}` }, draw("path", { d: MARKERS[marker] }))), name)));
  const drawn = make("div", { class: "watched" }, controls, whole, keys, make("figure", { class: "frame" }, map.plot), said);

  // The frame of the chosen round or, as long as it is not there, the last one before it.
  function shownFrame() {
    const round = state.rounds[state.place];
    const later = state.frames.findIndex((frame) => frame.round > round);
    return Math.max((later < 0 ? state.frames.length : later) - 1, 0);
  }

  function tell() {
    if (!state.frames.length) return;
    const index = shownFrame();
    const frame = state.frames[index];
    const words = `After round ${frame.round} of ${state.rounds.at(-1)}: ${frameWords(frame)}.`;
    slider.value = state.place;
    slider.setAttribute("aria-valuetext", words);
    whole.textContent = words;
    map.picture.setAttribute("aria-label", `Map of clients. ${words} The list below tells them by name.`);
    map.mark(index, state.near);
    const near = frame.clients.get(state.near);
    said.textContent = near ? nearWords(memory, near, frame) : "Point at a client for its verdict; click to choose it.";
    moved(state.rounds[state.place]);
    const wanted = state.rounds[state.place];
    if (frame.round !== wanted && fetchFrame && !state.asked.has(wanted)) ask(wanted);
  }

  async function ask(round) {
    state.asked.add(round);
    const found = await fetchFrame(round);
    if (!found) { state.asked.delete(round); return; }
    memory.known.frames.set(round, found);
    redraw();
  }

  function redraw() {
    const { frames, document: own } = memory.known;
    const sorted = [...frames.values()].sort((one, other) => one.round - other.round);
    state.frames = sorted.map((raw) => drawnFrame(memory, raw));
    agree(state.frames);
    state.rounds = fetchFrame ? listed(own.map_rounds) : sorted.map(({ round }) => round);
    if (state.follows) state.place = Math.max(state.rounds.length - 1, 0);
    state.place = Math.min(state.place, Math.max(state.rounds.length - 1, 0));
    slider.max = Math.max(state.rounds.length - 1, 0);
    const isThere = state.frames.length > 0;
    nothing.hidden = isThere;
    drawn.hidden = !isThere;
    controls.hidden = state.rounds.length < 2;
    if (!isThere) return;
    map.show(state.frames, Math.max(map.plot.clientWidth, 240));
    tell();
  }

  function pause() {
    clearInterval(state.timer);
    state.timer = null;
    play.textContent = "Play";
  }

  function go(place) {
    state.place = place;
    state.follows = place === state.rounds.length - 1; // at the end, it goes along with new rounds
    tell();
  }

  play.addEventListener("click", () => {
    if (state.timer !== null) return pause();
    if (state.place === state.rounds.length - 1) go(0);
    const stride = Math.max(1, Math.round(state.rounds.length / 60)); // half a minute at most
    state.timer = setInterval(() => {
      const next = Math.min(state.place + stride, state.rounds.length - 1);
      if (next === state.rounds.length - 1) pause();
      go(next);
    }, STEP);
    play.textContent = "Pause";
    return undefined;
  });
  slider.addEventListener("input", () => { pause(); go(Number(slider.value)); });
  return { place: make("div", {}, nothing, drawn), redraw, round: () => state.rounds[state.place] };
}
