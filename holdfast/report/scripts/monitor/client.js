// One client in words and numbers, and the commands for it.

const MEASURES = [
  ["norm", "length of its update", (value) => Number(value.toPrecision(3)).toString()],
  ["cosine", "cosine with the result", (value) => value.toFixed(3)],
  ["trimmed", "trimmed away", (value) => `${percent(value)} %`],
  ["opposed", "sign against the majority", (value) => `${percent(value)} %`],
];

function makeClient(memory) {
  const place = make("div", { class: "one-client", "aria-live": "polite" });

  function tell(number) {
    const client = memory.known.clients.get(number);
    if (!client) {
      place.replaceChildren(make("p", { class: "quiet" }, "Choose a client for what is known of it: a click, or the arrow keys in the list."));
      return;
    }
    const { document: own } = memory.known;
    const numbers = MEASURES.filter(([name]) => isNumber(client[name])).map(([name, title, text]) =>
      make("tr", {}, make("th", { scope: "row" }, title), make("td", {}, text(client[name]))));
    const drops = listed(own.drops).filter(([, , , name]) => name === client.name).slice(0, 3)
      .map((drop) => make("li", {}, `Round ${spanned(drop)[0]}: ${drop[4]}`));
    const ledger = `--ledger ${own.ledger_argument}`;
    const told = /^'?-/.test(client.argument || "") ? `${ledger} -- ${client.argument}` : `${client.argument} ${ledger}`; // no option of a command
    const command = client.argument ? [make("p", {}, "Its whole history: ", make("code", { tabindex: 0 }, `holdfast clients show ${told}`))]
      : [make("p", { class: "quiet" }, "No terminal shows this id as it is: see 'holdfast clients list'.")];
    place.replaceChildren(make("h3", {}, make("bdi", {}, client.name)), make("p", { class: "words" }, `${clientWords(client)}.`),
      drops.length ? make("ul", {}, ...drops) : "",
      numbers.length ? make("table", { class: "plain" }, make("caption", {}, make("span", {}, `When it was last heard, round ${client.last_round ?? "–"}`)), make("tbody", {}, ...numbers)) : "",
      ...command);
  }

  return { place, tell };
}
