// Whether the page is up to date, and when it is not, why: one line that says so plainly.

const PATIENT = { least: 120, rounds: 6 }; // silent for longer than both, in seconds and in usual rounds, is told

function ago(time) {
  if (time < 90) return `${Math.max(Math.round(time), 0)} s`;
  if (time < 5400) return `${Math.round(time / 60)} min`;
  return time < 172800 ? `${Math.round(time / 3600)} h` : `${Math.round(time / 86400)} days`;
}

// How long a round usually takes, from the end of one to the end of the next.
function usualPace(rounds) {
  const gaps = rounds.slice(1).map(({ at }, place) => at - rounds[place].at).filter((gap) => isNumber(gap) && gap >= 0);
  gaps.sort((one, other) => one - other);
  return gaps.length ? gaps[Math.floor(gaps.length / 2)] : null;
}

const clock = (at) => new Date(1000 * at).toISOString().replace("T", " ").slice(0, 19);

function makeStatus(place, memory, isLive) {
  const state = make("b", { role: "status" });
  const told = make("span");
  const line = make("p", { class: "status" }, state, " ", told);
  const link = { lost: null, error: null, ahead: 0 }; // since when the server does not answer; how far its clock is ahead
  place.replaceChildren(line);

  function say(kind, title, words) {
    line.dataset.kind = kind;
    if (state.textContent !== title) state.textContent = title; // else a screen reader would read it again and again
    told.textContent = words;
  }

  function tell() {
    const last = memory.lastRound();
    const now = Date.now() / 1000;
    const since = last ? now + link.ahead - last.at : null;
    const pace = usualPace(memory.known.rounds);
    const planned = isNumber(memory.known.document.n_planned) ? ` of ${memory.known.document.n_planned}` : "";
    const ended = last ? `Round ${last.round}${planned} ended ${ago(since)} ago.` : "Waiting for the first round.";
    if (!isLive) {
      say("still", "A page of a file.", last ? `It ends with round ${last.round}, ${clock(last.at)} UTC, and does not change.` : "It has no rounds.");
    } else if (link.lost !== null) {
      say("lost", "Connection lost.", `The monitor has not answered for ${ago(now - link.lost)}; the page tries again by itself. What you see is from before.`);
    } else if (link.error) {
      say("lost", "The ledger cannot be read.", link.error);
    } else if (last && last.round === memory.known.document.n_planned) {
      say("still", "Finished.", `All ${last.round} rounds are done; the last one ended ${ago(since)} ago.`);
    } else if (last && since > PATIENT.least && since > PATIENT.rounds * (pace ?? PATIENT.least)) {
      say("silent", "Silent.", `${ended} ${pace === null ? "" : `Before, a round came every ${ago(pace)}. `}The training ended, waits, or was stopped.`);
    } else {
      say("live", "Live.", ended);
    }
  }

  function answered(date, error = null) {
    const there = Date.parse(date || "");
    Object.assign(link, { lost: null, error, ahead: Number.isFinite(there) ? (there - Date.now()) / 1000 : 0 });
    if (Math.abs(link.ahead) < 2) link.ahead = 0; // a date has no fractions
    tell();
  }

  function failed() {
    link.lost ??= Date.now() / 1000;
    tell();
  }

  return { tell, answered, failed };
}
