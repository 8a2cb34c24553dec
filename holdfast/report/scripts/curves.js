// The curves of an experiment, one column at a time: charts, legend and the round's slider move together.

function makeCurves(place, results, experiment) {
  const columns = columnsWithRuns(results, experiment);
  if (!columns.length) return;
  const state = { column: columns[0], shown: [], round: 1, near: null, fit: false };
  const isHidden = (row) => !state.shown.includes(row);
  let lines = [];
  let nRounds = 1;
  let charts = [];

  const chosen = make("div", { class: "choices", role: "group", "aria-label": "Which column is drawn", hidden: experiment.columns.length < 2 });
  const slider = make("input", { type: "range", min: 1, step: 1, "aria-label": "Round" });
  const legend = makeLegend({
    toggled: (row) => { // one more than fit takes the place of the one that was chosen first
      state.shown = isHidden(row) ? [...state.shown, row].slice(-MOST_LINES) : state.shown.filter((one) => one !== row);
      redraw();
    },
    pointed: (row) => { state.near = row; tell(); },
    left: () => { state.near = null; tell(); },
  });
  const plots = make("div", { class: "charts" });
  const all = make("div", { class: "choices all" },
    make("button", { type: "button", class: "show-first" }, "Show the first choice"),
    make("button", { type: "button", class: "show-none" }, "Hide all"),
    toggle("Fit the axes", false, (button) => { press(button, !isPressed(button)); state.fit = isPressed(button); redraw(); }));

  function tell() {
    const near = state.near !== null && !isHidden(state.near) ? state.near : null;
    slider.value = state.round;
    slider.setAttribute("aria-valuetext", `round ${state.round} of ${nRounds}`);
    charts.forEach((chart) => chart.mark(state.round, near));
    legend.tell(lines, state.round, nRounds, isHidden, near);
  }

  function redraw() {
    const shown = lines.filter((line) => !isHidden(line.row));
    charts.forEach((chart) => chart.show({ lines: shown, nRounds, fit: state.fit, width: Math.max(chart.plot.clientWidth, 240) }));
    tell();
  }

  function choose(column) {
    state.column = column;
    for (const button of chosen.children) press(button, button.dataset.column === String(column));
    lines = linesOf(results, experiment, column);
    state.shown = firstShown(lines);
    nRounds = Math.max(...lines.map((line) => line.series.accuracy.length));
    state.round = nRounds;
    slider.max = nRounds;
    const metrics = METRICS.filter(({ name }) => lines.some((line) => line.series[name].some(Boolean)));
    charts = metrics.map((metric) => makeChart(metric, {
      pointed: (round, row) => { state.round = round; state.near = row; tell(); },
      left: () => { state.near = null; tell(); },
    }));
    plots.replaceChildren(...charts.map((chart) => chart.frame));
    legend.fill(lines, metrics);
    redraw();
  }

  for (const column of columns) {
    chosen.append(toggle(String(column), false, () => choose(column), { "data-column": column }));
  }
  slider.addEventListener("input", () => { state.round = Number(slider.value); tell(); });
  all.querySelector(".show-first").addEventListener("click", () => { state.shown = firstShown(lines); redraw(); });
  all.querySelector(".show-none").addEventListener("click", () => { state.shown = []; redraw(); });
  const beside = make("div", { class: "beside" }, make("label", { class: "slider" }, "Round", slider), legend.table, all);
  const seeds = experiment.cells.some((cell) => runsOf(results, cell).length > 1)
    ? `Lines: mean of the seeds. Up to ${FEW} lines are drawn with a band from the lowest seed to the highest. ` : "";
  const some = experiment.rows.length > MOST_LINES ? ` At most ${MOST_LINES} lines are drawn at a time.` : "";
  place.append(make("h3", {}, "By round"),
    make("p", { class: "quiet" }, `${seeds}Point at a chart, or move the slider, for the numbers of a round. A name in the table shows or hides its line.${some}`),
    chosen, make("div", { class: "panel" }, plots, beside));
  choose(state.column);
  new ResizeObserver(redraw).observe(plots);
}
