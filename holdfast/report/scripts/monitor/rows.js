// The clients in the order in which an operator wants to see them, and what there is to say of each.

const RANKS = new Map([["expelled", 0], ["suspected", 1], ["too early to tell", 3], ["clear", 4]]);
const isNamed = ({ since }) => isNumber(since);

// The most suspicious first: by standing, then by how sure it is, then by how often it was dropped.
function bySuspicion(one, other) {
  const rank = ({ standing, banned, n_dropped: dropped }) => (banned ? -1 : (standing === "clear" || standing === null) && dropped ? 2 : RANKS.get(standing) ?? 5);
  const chance = ({ false_alarm: value }) => (isNumber(value) ? value : 1);
  return rank(one) - rank(other) || isNamed(other) - isNamed(one) || chance(one) - chance(other)
    || (other.n_dropped || 0) - (one.n_dropped || 0) || one.number - other.number;
}

function sortedClients(memory, wanted) {
  const text = wanted.trim().toLowerCase();
  const all = [...memory.known.clients.values()].sort(bySuspicion);
  return text ? all.filter(({ name }) => name.toLowerCase().includes(text)) : all;
}

function clientWords(client) {
  const { name, standing, banned, n_used: used, n_dropped: dropped } = client;
  const took = `used in ${counted(used || 0, "round")}, not used in ${dropped || 0}`;
  const out = banned ? ", banned" : "";
  if (!standing) return `Client ${name}${out}: ${took}`;
  return `${verdictWords({ ...client, client: name, standing: standingNamed(standing) }, false)}${out}; ${took}`;
}
