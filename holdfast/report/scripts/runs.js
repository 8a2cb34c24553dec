// How every number was made: the runs of an experiment, written down when somebody asks.

function runRow(cell, key, run) {
  const dropped = Object.entries(run.dropped || {}).map(([reason, count]) => `${count} × ${reason}`).join("; ");
  const described = make("details", {}, make("summary", {}, make("code", {}, key)), make("p", { class: "described" }, String(run.run)));
  const done = run.finished ? String(run.n_rounds) : `${listed((run.series || {}).accuracy).length} of ${run.n_rounds}`;
  const clients = isNumber(run.n_clients) ? `${run.n_per_round} of ${run.n_clients}` : "–";
  const cells = [cell.row, cell.column, run.seed, done, clients, seconds(run.seconds_a_round), dropped || "–"];
  const [first, ...rest] = cells.map(String);
  return make("tr", {}, make("th", { scope: "row" }, first), ...rest.map((text) => make("td", {}, text)), make("td", {}, described));
}

function makeRuns(place, results, experiment) {
  const rows = () => experiment.cells.flatMap((cell) =>
    listed(cell.keys).filter((key) => results.runs[key]).map((key) => runRow(cell, key, results.runs[key])));
  const n = experiment.cells.reduce((sum, cell) => sum + runsOf(results, cell).length, 0);
  place.querySelector("summary").textContent = `Runs (${n})`;
  place.addEventListener("toggle", () => {
    if (!place.open || place.querySelector("table")) return;
    const heads = ["row", "column", "seed", "rounds", "clients per round", "time per round", "dropped", "key; all that determines it"];
    const table = make("table", { class: "plain" }, make("caption", {}, make("span", {}, "Each run is one file in the results folder, named by its key.")),
      make("thead", {}, make("tr", {}, ...heads.map((title) => make("th", { scope: "col" }, title)))), make("tbody", {}, ...rows()));
    place.append(make("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Runs" }, table));
  });
}
