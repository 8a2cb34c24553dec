// From stored verdicts to frames: per round, what the watch said of each client, and its place on the map.

// Most serious first.
const STANDINGS = [
  { name: "expelled", look: "expelled", marker: 6 },
  { name: "counts as one", look: "as-one", marker: 6 },
  { name: "suspected", look: "suspected", marker: 3 },
  { name: "clear", look: "clear", marker: 0 },
  { name: "too early to tell", look: "early", marker: 0 },
];
const standingNamed = (name) => STANDINGS.find((one) => one.name === name) || STANDINGS.at(-1);
const ACCUSED = ["expelled", "counts as one", "suspected"];
const isOutside = ({ standing }) => ACCUSED.includes(standing.name);

const VERDICT_COLUMNS = ["client", "standing", "heard", "false_alarm", "faction", "since", "place"];

function frameOf(said, malicious) {
  const columns = VERDICT_COLUMNS.map((name) => listed((said.clients || {})[name]));
  const verdicts = columns[0].map((_, row) => {
    const one = Object.fromEntries(VERDICT_COLUMNS.map((name, place) => [name, columns[place][row]]));
    const client = String(one.client);
    const place = listed(one.place).length === 2 && one.place.every(isNumber) ? [...one.place] : [0, 0];
    return { ...one, client, place, standing: standingNamed(one.standing), attacks: malicious.has(client) };
  });
  return { round: said.round, hears: said.hearing === true, clients: new Map(verdicts.map((one) => [one.client, one])) };
}

// Which way is up is arbitrary, and so is which way is right as long as nobody stands outside: every frame is
// mirrored to agree with the next.
function mirror(frames) {
  for (let index = frames.length - 2; index >= 0; index -= 1) {
    const own = [...frames[index].clients.values()];
    const next = frames[index + 1].clients;
    for (const axis of own.some(isOutside) ? [1] : [0, 1]) {
      const both = own.filter(({ client }) => next.has(client));
      const agreement = both.reduce((sum, { client, place }) => sum + place[axis] * next.get(client).place[axis], 0);
      if (agreement < 0) for (const { place } of own) place[axis] = -place[axis];
    }
  }
}

function framesOf(watch) {
  const malicious = new Set(listed(watch.malicious).map(String));
  const frames = listed(watch.rounds).filter((said) => said && isNumber(said.round)).map((said) => frameOf(said, malicious));
  mirror(frames);
  return frames;
}

// A small chance, as verdicts say it: one digit, of which a half goes to the even one.
function odds(chance) {
  if (!isNumber(chance) || chance >= 0.5) return "likely";
  const power = 10 ** Math.floor(Math.log10(1 / chance));
  const digit = 1 / chance / power;
  const whole = digit % 1 === 0.5 ? 2 * Math.round(digit / 2) : Math.round(digit);
  return `1 in ${(whole * power).toLocaleString("en")}${chance <= 0.001 ? " or less" : ""}`;
}

// A chance is told where there is something against a client.
const isAccused = ({ faction, since }) => isNumber(faction) || isNumber(since);

function verdictWords(verdict, known) {
  const { client, standing, heard, false_alarm: chance, faction, since, attacks } = verdict;
  const who = known ? `, ${attacks ? "an attacker" : "honest"}` : "";
  const when = isNumber(since) ? ` since round ${since}` : "";
  const company = isNumber(faction) ? `, votes with faction ${faction}` : "";
  const sure = isAccused(verdict) ? `, false alarm: ${odds(chance)}` : "";
  return `Client ${client}${who}: ${standing.name}${when}${company} (heard ${heard === 1 ? "once" : `${heard} times`}${sure})`;
}

// How many clients have which standing and, where it is known, how many of the attackers were found.
function frameWords({ clients, hears }) {
  const all = [...clients.values()];
  const having = (some, name) => some.filter(({ standing }) => standing.name === name).length;
  const counts = STANDINGS.map(({ name }) => [having(all, name), name]).filter(([count, name]) => count || name !== "counts as one");
  const attackers = all.filter(({ attacks }) => attacks);
  const [expelled, asOne] = ["expelled", "counts as one"].map((name) => having(attackers, name));
  const found = attackers.length ? `. Of ${counted(attackers.length, "attacker")} heard, ${expelled} ${expelled === 1 ? "is" : "are"} expelled${asOne ? `, and ${asOne} count as one` : ""}` : "";
  return `${hears ? "a hearing, nothing is applied; " : ""}${counts.map(([count, name]) => `${count} ${name}`).join(", ")}${found}`;
}
