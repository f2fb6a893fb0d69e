// Times of lines: off, as they are on the reader's clock, or since the job began; the other one as a title.

export const WAYS = ["off", "absolute", "since"];
export const SAID = { off: "Times: off", absolute: "Times: of the day", since: "Times: since the start" };
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" });

function since(milliseconds) {
  const tenths = Math.max(0, Math.round(milliseconds / 100)), seconds = Math.floor(tenths / 10);
  const two = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds % 3600 / 60);
  return `+${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}.${tenths % 10}`;
}

/** What stands before a line, and its title; null when nothing does. */
export function stamp(way, time, began) {
  if (way === "off" || !time) return null;
  const day = `${clock.format(time)} (${new Date(time).toISOString()})`, passed = since(time - began);
  return way === "absolute" ? [clock.format(time), `${new Date(time).toISOString()}, ${passed} since the start`] : [passed, day];
}
