// How often each client was trimmed, the attackers marked: one run at a time.

const BARS = { height: 170, top: 8, bottom: 26, left: 42, right: 8 };

function sharesOf(run) {
  const malicious = new Set(listed(run.malicious).map(String));
  return Object.entries(run.trim_share || {})
    .filter(([, share]) => isNumber(share))
    .map(([client, share]) => ({ client, share, attacks: malicious.has(client) }))
    .sort((one, other) => other.share - one.share);
}

function runsWithShares(results, experiment) {
  return experiment.cells.flatMap((cell) => listed(cell.keys).flatMap((key) => {
    const run = results.runs[key];
    if (!run || !sharesOf(run).length) return [];
    return [{ key, run, name: `${cell.row}, ${cell.column}, seed ${run.seed}` }];
  }));
}

function average(shares) {
  return shares.length ? `${percent(mean(shares.map(({ share }) => share)))} %` : "–";
}

const asWords = ({ client, share, attacks }) =>
  `Client ${client}, ${attacks ? "an attacker" : "honest"}: trimmed in ${percent(share)} % of the coordinates`;

function drawBars(picture, shares, width, pointed) {
  const { height, top, bottom, left, right } = BARS;
  const most = Math.max(0.1, Math.ceil(10 * Math.max(...shares.map(({ share }) => share))) / 10);
  const room = height - top - bottom;
  const step = (width - left - right) / shares.length;
  const y = (share) => top + (1 - share / most) * room;
  const grid = [0, most / 2, most].flatMap((share) => [
    draw("line", { class: "grid", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
    draw("text", { class: "tick", x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${(100 * share).toFixed(0)}%`)]);
  const bars = shares.flatMap((one, place) => {
    const x = left + place * step;
    const bar = draw("rect", { class: one.attacks ? "bar attacks" : "bar", "data-client": one.client,
      x: x + step * 0.08, width: step * 0.84, y: y(one.share), height: Math.max(height - bottom - y(one.share), 0.5) });
    const wide = draw("rect", { class: "sensor", x, width: step, y: top, height: height - top });
    wide.addEventListener("pointerenter", () => pointed(one));
    const middle = x + step / 2;
    const half = Math.min(4, Math.max(step / 2, 1.5));
    const base = height - bottom + 4;
    const sign = one.attacks
      ? [draw("path", { class: "attacker", d: `M${middle},${base}l${half},7h${-2 * half}z` })] : [];
    return [bar, ...sign, wide];
  });
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.replaceChildren(...grid, ...bars,
    draw("text", { class: "tick", x: width - right, y: height - 2, "text-anchor": "end" }, "clients, the most trimmed first"));
}

function asTable(shares) {
  const rows = shares.map(({ client, share, attacks }) => make("tr", { class: attacks ? "attacks" : null },
    make("th", { scope: "row" }, client), make("td", {}, attacks ? "▲ attacker" : "honest"), make("td", {}, percent(share))));
  const heads = ["client", "", "trimmed, %"].map((title) => make("th", { scope: "col" }, title));
  return make("table", { class: "plain" }, make("caption", {}, make("span", {}, "Share of the coordinates in which a client was trimmed")),
    make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
}

function makeClients(place, results, experiment) {
  const runs = runsWithShares(results, experiment);
  if (!runs.length) return;
  const select = make("select", {}, ...runs.map(({ key, name }) => make("option", { value: key }, name)));
  const picture = draw("svg", { class: "chart bars", role: "img", height: BARS.height });
  const plot = make("div", { class: "plot" }, picture);
  const said = make("p", { class: "said" });
  const whole = make("p", { class: "summary" });
  const table = make("details", { class: "shares" }, make("summary", {}, "As a table"));
  let shares = [];

  function redraw() {
    drawBars(picture, shares, Math.max(plot.clientWidth, 240), (one) => { said.textContent = asWords(one); });
  }

  function choose() {
    const { run, name } = runs.find(({ key }) => key === select.value);
    shares = sharesOf(run);
    const attackers = shares.filter(({ attacks }) => attacks);
    const honest = shares.filter(({ attacks }) => !attacks);
    const groups = [
      [attackers, "key attacks", `▲ ${counted(attackers.length, "attacker")}`],
      [honest, "key", counted(honest.length, "honest client")]].filter(([own]) => own.length);
    const told = groups.flatMap(([own, key, text], place) => [make("span", { class: key }), place
      ? ` ${text}, in ${average(own)}` : ` ${text}, trimmed in ${average(own)} of the coordinates on average`, "; "]);
    whole.replaceChildren(make("b", { class: "for-print" }, `${name}. `), ...told.slice(0, -1), ".");
    picture.setAttribute("aria-label", `${name}: ${whole.textContent.trim()}`);
    said.textContent = asWords(shares[0]);
    table.replaceChildren(table.firstChild, ...(table.open ? [asTable(shares)] : []));
    redraw();
  }

  select.addEventListener("change", choose);
  table.addEventListener("toggle", choose);
  place.append(make("h3", {}, "Who was trimmed"), make("label", { class: "chooser" }, "Run ", select), whole, plot, said, table);
  choose();
  new ResizeObserver(redraw).observe(plot);
}
