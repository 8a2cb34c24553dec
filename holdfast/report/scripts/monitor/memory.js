// What the page knows of a federation: the document that it came with, and everything that came after it.

// Rows of a table that is sent column by column.
function rowsIn(columns) {
  const names = Object.keys(columns || {});
  const length = Math.max(0, ...names.map((name) => listed(columns[name]).length));
  return Array.from({ length }, (_, place) => Object.fromEntries(names.map((name) => [name, columns[name][place]])));
}

const LETTERS_OF = new Map([["e", "expelled"], ["o", "counts as one"], ["s", "suspected"], ["c", "clear"], ["t", "too early to tell"]]);

function makeMemory() {
  const known = {
    document: {}, // the newest, for all that is sent whole each time
    rounds: [], // in order
    clients: new Map(), // by number
    fates: [], // by number: what became of it, one letter per round
    standings: [], // by number: what was said of it, one letter per round
    frames: new Map(), // by round: places on the map
  };

  function forget() {
    Object.assign(known, { rounds: [], fates: [], standings: [] });
    known.clients.clear();
    known.frames.clear();
  }

  // Rounds come again when more is known of them.
  function takeRounds(rounds) {
    const from = rounds.length ? known.rounds.findIndex(({ round }) => round >= rounds[0].round) : -1;
    known.rounds = [...(from < 0 ? known.rounds : known.rounds.slice(0, from)), ...rounds];
  }

  function takeTimeline({ rounds = [], fates = [], standings = [] }) {
    const before = known.rounds.length - rounds.length; // so many were known before
    for (const [own, next] of [[known.fates, fates], [known.standings, standings]]) {
      next.forEach((letters, number) => { own[number] = (own[number] || "").padEnd(before, ".") + letters; });
    }
  }

  // One document in, all of it or what is new.
  function take(next) {
    if (!next.since) forget();
    known.document = next;
    takeRounds(rowsIn(next.rounds));
    takeTimeline(next.timeline || {});
    for (const { place, name, argument, ...rest } of rowsIn(next.clients)) {
      const before = known.clients.get(place); // its name is told once
      known.clients.set(place, { ...rest, number: place, name: name ?? before?.name, argument: argument ?? before?.argument });
    }
    const [banned, former] = [next.banned, next.former].map((numbers) => new Set(listed(numbers)));
    for (const client of known.clients.values()) Object.assign(client, { banned: banned.has(client.number), former: former.has(client.number) });
    for (const frame of listed(next.frames)) known.frames.set(frame.round, frame);
  }

  const placeOf = (round) => known.rounds.findIndex((one) => one.round === round);
  const isWatched = () => known.standings.some((letters) => /[^.]/.test(letters));

  // What was said of a client after a round; undefined if nothing was.
  const standingAt = (number, place) => LETTERS_OF.get((known.standings[number] || "")[place]);

  // Whether a client took part in a round without a say by a decision, and not because its reply could not be used.
  function isKeptOut(number, place) {
    const fate = (known.fates[number] || "")[place];
    const isDecided = known.clients.get(number)?.banned || ["expelled", "counts as one", "too early to tell"].includes(standingAt(number, place));
    return fate === "h" || (fate === "d" && isDecided);
  }

  function brokenOf(number) {
    const fates = known.fates[number] || "";
    let count = 0;
    for (let place = fates.indexOf("d"); place >= 0; place = fates.indexOf("d", place + 1)) count += !isKeptOut(number, place);
    return count;
  }

  // Stretches of rounds in which the same was said of a client, as places in the list of rounds: [start, end).
  function stretchesOfClient(number) {
    const found = [];
    [...(known.standings[number] || "")].forEach((letter, place) => {
      if (found.length && found.at(-1).letter === letter) found.at(-1).end = place + 1;
      else found.push({ letter, start: place, end: place + 1 });
    });
    return found.filter(({ letter }) => LETTERS_OF.has(letter)).map((one) => ({ ...one, look: standingNamed(LETTERS_OF.get(one.letter)).look }));
  }

  return { known, take, placeOf, isWatched, standingAt, isKeptOut, brokenOf, stretchesOfClient, lastRound: () => known.rounds.at(-1) || null };
}
