// What was dropped and why, what operators decided, and what the rounds noted.

function tableOf(caption, heads, rows) {
  const region = make("div", { class: "scrolled long", tabindex: 0, role: "region", "aria-label": caption });
  region.append(make("table", { class: "words" }, make("caption", {}, make("span", {}, caption)),
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map(([first, ...rest]) => make("tr", {}, make("th", { scope: "row" }, String(first ?? "–")),
      ...rest.map((cell) => make("td", {}, make("bdi", {}, String(cell ?? "–")))))))));
  return region;
}

const spanned = ([first, last, times, ...told]) => [first === last ? first : `${first} to ${last}, ${times} times`, ...told];

function fillLists(place, { drops, decisions, notes }) {
  const newest = (rows) => [...listed(rows)].reverse();
  const parts = [
    [listed(drops), "Replies that could not be used", (rows) => tableOf("By client and reason, the newest first", ["round", "client", "reason"], rows.map(spanned))],
    [listed(decisions), "Decisions", (rows) => tableOf("Decisions of operators, the newest first", ["when (UTC)", "round", "client", "decision", "by", "why"],
      newest(rows).map(({ at, round, client, action, by, why }) => [clock(at), round, client, action, by, why]))],
    [listed(notes), "Notes", (rows) => tableOf("Notes of rounds, the newest first", ["round", "note"], newest(rows))],
  ];
  const open = new Map([...place.querySelectorAll(".scrolled")].map((one) => [one.getAttribute("aria-label"), one.scrollTop]));
  place.replaceChildren(...parts.filter(([rows]) => rows.length).map(([rows, title, fill]) => make("section", {}, make("h2", {}, title), fill(rows))));
  for (const one of place.querySelectorAll(".scrolled")) one.scrollTop = open.get(one.getAttribute("aria-label")) || 0; // where the reader was
}
