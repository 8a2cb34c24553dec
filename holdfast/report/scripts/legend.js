// The legend: one row per line, with a button that shows or hides it, and its numbers in the chosen round.

function swatch(line) {
  return draw("svg", { class: "swatch", viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true" },
    draw("g", { class: lookOf(line) }, draw("path", { class: "stroke", d: "M1,6H33" }),
      draw("g", { class: "marks" }, draw("path", { d: MARKERS[line.marker], transform: "translate(17,6)" }))));
}

function makeLegend({ toggled, pointed, left }) {
  const said = make("caption");
  const head = make("thead");
  const body = make("tbody");
  const table = make("table", { class: "legend" }, said, head, body);
  const buttons = new Map();

  function row(line, metrics) {
    const button = toggle(swatch(line), true, () => toggled(line.row), { "data-line": line.row });
    button.append(make("span", {}, ...breakable(line.row)));
    buttons.set(line.row, button);
    const numbers = metrics.map(({ name }) => make("td", { "data-metric": name }));
    const whole = make("tr", { "data-row": line.row }, make("th", { scope: "row" }, button), ...numbers);
    for (const name of ["pointerenter", "focusin"]) whole.addEventListener(name, () => pointed(line.row));
    for (const name of ["pointerleave", "focusout"]) whole.addEventListener(name, left);
    return whole;
  }

  function fill(lines, metrics) {
    buttons.clear();
    head.replaceChildren(make("tr", {}, make("td", { class: "corner" }),
      ...metrics.map(({ title }) => make("th", { scope: "col" }, title))));
    body.replaceChildren(...lines.map((line) => row(line, metrics)));
  }

  function tell(lines, round, nRounds, isHidden, near) {
    said.textContent = `Round ${round} of ${nRounds}, in percent`;
    const byRow = new Map(lines.map((line) => [line.row, line]));
    for (const whole of body.rows) {
      const line = byRow.get(whole.dataset.row);
      press(buttons.get(line.row), !isHidden(line.row));
      whole.classList.toggle("off", isHidden(line.row));
      whole.classList.toggle("near", near === line.row);
      for (const cell of whole.querySelectorAll("td")) {
        const point = line.series[cell.dataset.metric][round - 1];
        cell.textContent = point ? percent(point.mean) : "–";
      }
    }
  }

  return { table, fill, tell };
}
