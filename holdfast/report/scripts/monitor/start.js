// Everything begins here: the document is read and drawn, then followed.

const first = JSON.parse(document.getElementById("document").textContent);
const memory = makeMemory();
memory.take(first);

const at = (id) => document.getElementById(id);
const status = makeStatus(at("status"), memory, first.live);
const banner = makeBanner(at("verdict"), memory);
const client = makeClient(memory);
const strips = makeStrips(memory, { chosen: choose, pointed: markRound, left: () => markRound(places.round()) });
const places = makePlaces(memory, { fetchFrame: first.live ? fetchFrame : null, chosen: (number) => choose(number, { reveal: true }), moved: markRound });
const charts = SERIES.map(makeSeries);
const filter = make("input", { type: "search", placeholder: "id", autocomplete: "off", spellcheck: "false" });
let selected = null;

function choose(number, options) {
  selected = number;
  strips.select(number, options);
  client.tell(number);
}

function markRound(round) {
  strips.mark(round);
  for (const chart of charts) chart.mark(round);
}

function showClients() {
  const rows = sortedClients(memory, filter.value);
  strips.show(rows);
  at("n-clients").textContent = filter.value ? `${rows.length} of ${counted(memory.known.clients.size, "client")}` : counted(rows.length, "client");
}

function redraw() {
  banner.tell();
  status.tell();
  const { document: own, rounds } = memory.known;
  document.title = `holdfast: ${own.title}`;
  at("title").textContent = own.title;
  for (const name of ["rule", "watch"]) if (own[name]) at(name).textContent = own[name];
  for (const key of document.querySelectorAll(".of-watch")) key.hidden = !memory.isWatched();
  for (const part of document.querySelectorAll(".needs-rounds")) part.hidden = !rounds.length;
  if (!rounds.length) return;
  showClients();
  client.tell(selected);
  for (const chart of charts) {
    chart.show(rounds, Math.max(Math.floor(at("series").clientWidth / (at("series").clientWidth > 700 ? 2 : 1)) - 12, 240));
  }
  places.redraw();
  fillLists(at("lists"), own);
}

filter.addEventListener("input", showClients);
at("filter").append(make("label", { class: "chooser" }, "Find a client ", filter));
at("map").append(places.place);
at("strips").append(strips.list);
at("client").append(client.place);
at("series").append(...charts.map(({ frame }) => frame));
redraw();
let width = at("main").clientWidth;
new ResizeObserver(() => { // what is drawn changes the height, and that changes nothing
  if (width !== at("main").clientWidth) redraw();
  width = at("main").clientWidth;
}).observe(at("main"));
setInterval(() => status.tell(), 1000);
if (first.live) follow(memory, { status, changed: redraw });
