// The moment in the address (`?t=` seconds since 1970), to which a bar of a timeline leads.

/** The line of that moment; 0 when none is asked for, or nothing in the log has a time. */
export async function lineAsked(source) {
  const { t } = Object.fromEntries(new URLSearchParams(location.search));
  if (!/^\d{1,12}$/.test(t ?? "")) return 0;
  try {
    const response = await fetch(`${source}/at?${new URLSearchParams({ t })}`, { headers: { Accept: "application/json" } });
    return response.ok ? (await response.json()).line ?? 0 : 0;
  } catch { return 0; } // it opens as it always does
}
