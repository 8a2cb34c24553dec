// From the document to lines: per row of an experiment, the mean of the seeds by round, and their range.

const METRICS = [
  { name: "accuracy", title: "Acc", heading: "Accuracy: clean inputs answered correctly" },
  { name: "minority_accuracy", title: "Minority", heading: "Minority: inputs in its form answered correctly" },
  { name: "attack_success", title: "ASR", heading: "Attack success: inputs with the backdoor that get the attackers’ label" },
  { name: "kept_fraction", title: "Kept", heading: "Kept: share of the coordinates that the mask keeps" },
];
const N_COLOURS = 8;
const N_DASHES = 3;
const MOST_LINES = 6; // that a chart shows at a time

const listed = (value) => (Array.isArray(value) ? value : []);
const runsOf = (results, cell) => listed(cell.keys).map((key) => results.runs[key]).filter(Boolean);

function byRound(runs, name) {
  const series = runs.map((run) => listed((run.series || {})[name]));
  const length = Math.max(0, ...series.map((numbers) => numbers.length));
  return Array.from({ length }, (_, index) => {
    const numbers = series.map((one) => one[index]).filter(isNumber);
    if (!numbers.length) return null;
    return { mean: mean(numbers), low: Math.min(...numbers), high: Math.max(...numbers), n: numbers.length };
  });
}

// A row that the first experiment has, too, looks the same everywhere; the others take what is free.
function looksOf(results, experiment) {
  const known = new Map(listed((results.experiments[0] || {}).rows).map((row, place) => [row, place]));
  const taken = new Set(experiment.rows.filter((row) => known.has(row)).map((row) => known.get(row)));
  let free = 0;
  return new Map(
    experiment.rows.map((row) => {
      if (known.has(row)) return [row, known.get(row)];
      while (taken.has(free)) free += 1;
      taken.add(free);
      return [row, free];
    }),
  );
}

function linesOf(results, experiment, column) {
  const looks = looksOf(results, experiment);
  return experiment.rows.flatMap((row) => {
    const cell = experiment.cells.find((one) => one.row === row && one.column === column);
    const runs = cell ? runsOf(results, cell) : [];
    const series = Object.fromEntries(METRICS.map(({ name }) => [name, byRound(runs, name)]));
    if (!series.accuracy.some(Boolean)) return [];
    const look = looks.get(row);
    return [{
      row: String(row),
      series,
      colour: look % N_COLOURS,
      dash: Math.floor(look / N_COLOURS) % N_DASHES,
      marker: look % MARKERS.length, // eight colours, seven markers: the same colour has another marker
    }];
  });
}

// Which lines to show first, of many: the first row, which has no defence, and those whose backdoor works least.
function firstShown(lines) {
  if (lines.length <= MOST_LINES) return lines.map(({ row }) => row);
  const last = ({ series }) => (series.attack_success.findLast(Boolean) || { mean: 2 }).mean;
  const best = lines.slice(1).sort((one, other) => last(one) - last(other)).slice(0, MOST_LINES - 1);
  return [lines[0], ...best].map(({ row }) => row);
}

const columnsWithRuns = (results, experiment) =>
  experiment.columns.filter((column) => linesOf(results, experiment, column).length);
