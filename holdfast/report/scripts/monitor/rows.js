// The clients in the order in which an operator wants to see them, and what there is to say of each.

const RANKS = new Map([["expelled", 0], ["counts as one", 0], ["suspected", 1], ["too early to tell", 3], ["clear", 4]]);
const isNamed = ({ since }) => isNumber(since);

// The most suspicious first: by standing, then by how sure it is, then by how often its reply could not be used.
// Those of an earlier run come last.
function bySuspicion(one, other) {
  const rank = ({ standing, banned, remarks, broken }) => {
    if (banned || ACCUSED.includes(standing)) return banned ? -1 : RANKS.get(standing);
    return remarks ? 1.5 : broken ? 2 : RANKS.get(standing) ?? 5;
  };
  const chance = ({ false_alarm: value }) => (isNumber(value) ? value : 1);
  return one.former - other.former || rank(one) - rank(other) || isNamed(other) - isNamed(one) || chance(one) - chance(other)
    || other.broken - one.broken || one.number - other.number;
}

function sortedClients(memory, wanted) {
  const text = wanted.trim().toLowerCase();
  const all = [...memory.known.clients.values()].map((client) => ({ ...client, broken: memory.brokenOf(client.number) })).sort(bySuspicion);
  return text ? all.filter(({ name }) => name.toLowerCase().includes(text)) : all;
}

function clientWords(client) {
  const { name, standing, banned, remarks, former, n_used: used, n_dropped: dropped } = client;
  const took = `used in ${counted(used || 0, "round")}, not used in ${dropped || 0}`;
  const out = (banned ? ", banned" : "") + (former ? ", of an earlier run: its id has not come back" : "") + (remarks ? `; ${remarks}` : "");
  if (!standing) return `Client ${name}${out}: ${took}`;
  return `${verdictWords({ ...client, client: name, standing: standingNamed(standing) }, false)}${out}; ${took}`;
}
