// What of the viewer stands in the address: lines that are pointed at, and sections that the reader opened or closed.

/** `#L10` or `#L10-L24` as `[10, 24]`; null for anything else. */
export function pointed(hash = location.hash) {
  const found = /^#L(\d{1,12})(?:-L?(\d{1,12}))?$/.exec(hash);
  if (!found) return null;
  const [first, last] = [Number(found[1]), Number(found[2] ?? found[1])].sort((a, b) => a - b);
  return first > 0 ? [first, last] : null;
}

export const named = ([first, last]) => (first === last ? `#L${first}` : `#L${first}-L${last}`);

function put(change) {
  const address = new URL(location.href);
  change(address);
  address.search = address.search.replaceAll("%2C", ",");
  history.replaceState(history.state, "", address);
}

export function point(range) {
  put((address) => { address.hash = named(range); });
  return location.href;
}

const numbers = (text) => new Set((text ?? "").split(",").filter((part) => /^\d{1,6}$/.test(part)).map(Number));

/** `{opened, closed}`: places of sections, as the reader has left them. */
export function chosen() {
  const query = new URLSearchParams(location.search);
  return { opened: numbers(query.get("opened")), closed: numbers(query.get("closed")), all: query.get("sections") };
}

export function choose({ opened, closed, all }) {
  put(({ searchParams }) => {
    for (const [name, value] of [["opened", [...opened].join(",")], ["closed", [...closed].join(",")], ["sections", all]]) {
      if (value) searchParams.set(name, value); else searchParams.delete(name);
    }
  });
}
