// Ask the server for what is new, as long as the page is open; slowly, while nobody looks at it.

const PACES = { seen: 2000, hidden: 20000, lost: 3000 };

function follow(memory, { status, changed }) {
  let timer = null;
  let isAsking = false;

  async function ask() {
    if (isAsking) return;
    isAsking = true;
    clearTimeout(timer);
    const { tag, last } = memory.known.document;
    const known = new URLSearchParams({ tag: tag || "", ...(last ? { last } : {}) });
    let pace = document.hidden ? PACES.hidden : PACES.seen;
    try {
      const response = await fetch(`api/update?${known}`, { cache: "no-store", signal: AbortSignal.timeout(30000) });
      if (response.status === 200) {
        memory.take(await response.json());
        changed();
      }
      const isFine = response.status === 200 || response.status === 204;
      status.answered(response.headers.get("Date"), isFine ? null : await response.text());
    } catch {
      status.failed();
      pace = PACES.lost;
    }
    isAsking = false;
    timer = setTimeout(ask, pace);
  }

  document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
  timer = setTimeout(ask, PACES.seen);
}

async function fetchFrame(round) {
  try {
    const response = await fetch(`api/map?round=${round}`, { cache: "no-store", signal: AbortSignal.timeout(30000) });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}
