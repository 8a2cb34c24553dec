// The verdict in one sentence, what else there is to know, and what to type next.

const TILES = [
  ["round", "round(s)", ({ last }) => last.round],
  ["clients", "client(s)", ({ present }) => present.length],
  ["former", "known from before", ({ document }) => listed(document.former).length || null],
  ["expelled", "expelled", ({ count }) => count("expelled")],
  ["as-one", "count as one", ({ count }) => count("counts as one") || null],
  ["suspected", "suspected", ({ count }) => count("suspected")],
  ["banned", "banned", ({ present }) => present.filter(({ banned }) => banned).length],
  ["broken", "not usable last round", ({ document }) => document.n_broken],
  ["kept", "% of coordinates kept", ({ last }) => (isNumber(last.kept_fraction) ? percent(last.kept_fraction) : null)],
  ["accuracy", "% accuracy", ({ last }) => (isNumber(last.accuracy) ? percent(last.accuracy) : null)],
];

function commandLine({ does, command }) {
  return make("li", {}, `${does}: `, make("code", { tabindex: 0 }, command));
}

function makeBanner(place, memory) {
  const sentence = place.querySelector(".sentence");
  const further = place.querySelector(".further");
  const steps = place.querySelector(".steps");
  const tiles = place.querySelector(".tiles");

  function tell() {
    const { document: own, clients } = memory.known;
    const said = own.banner || {};
    place.dataset.level = said.level;
    if (sentence.textContent !== said.sentence) sentence.textContent = said.sentence; // it is read aloud when it changes
    further.replaceChildren(...listed(said.further).map((one) => make("li", {}, one)));
    steps.replaceChildren(...listed(own.next).map(commandLine));
    steps.parentNode.hidden = !listed(own.next).length;
    const last = memory.lastRound();
    const present = [...clients.values()].filter(({ former }) => !former);
    const count = (name) => present.filter(({ standing }) => standing === name).length;
    const numbers = last ? TILES.map(([name, title, of]) => [name, title, of({ last, document: own, present, count })]) : [];
    const watched = memory.isWatched();
    tiles.replaceChildren(...numbers
      .filter(([name, , value]) => value !== null && value !== undefined && (watched || !["expelled", "suspected"].includes(name)))
      .map(([name, title, value]) => make("li", { class: "number", "data-number": name }, make("b", {}, String(value)), ` ${title.replace("(s)", value === 1 ? "" : "s")}`)));
  }

  return { tell };
}
