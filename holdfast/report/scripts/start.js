// Everything begins here: the document is read, and what the tables leave out is drawn.

const results = JSON.parse(document.getElementById("document").textContent);

for (const [selector, fill] of [[".curves", makeCurves], [".watch", makeWatches], [".clients", makeClients], [".runs", makeRuns]]) {
  for (const place of document.querySelectorAll(selector)) {
    fill(place, results, results.experiments[Number(place.dataset.experiment)]);
  }
}

for (const place of document.querySelectorAll(".watch-alone")) {
  place.append(makeWatch({ watch: results.watch, frames: framesOf(results.watch), name: `round ${results.watch.rounds.at(-1).round}` }));
}

for (const button of document.querySelectorAll("button[data-shows]")) {
  button.addEventListener("click", () => {
    press(button, !isPressed(button));
    document.getElementById(button.dataset.table).classList.toggle(`shows-${button.dataset.shows}`, isPressed(button));
  });
}

for (const button of document.querySelectorAll("button[data-verdict]")) {
  button.addEventListener("click", () => {
    press(button, !isPressed(button));
    for (const claim of document.querySelectorAll(".claims > li")) {
      const verdicts = [...claim.querySelectorAll("[data-verdict]")];
      for (const one of verdicts) {
        if (one.dataset.verdict === button.dataset.verdict) one.hidden = !isPressed(button);
      }
      claim.hidden = verdicts.every((one) => one.hidden);
    }
  });
}
