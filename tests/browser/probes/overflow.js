() => {
  const root = document.documentElement, wide = root.clientWidth;
  if (root.scrollWidth <= wide) return [];
  const inside = (node) => { for (let up = node.parentElement; up && up !== document.body; up = up.parentElement)
    if (!['visible'].includes(getComputedStyle(up).overflowX)) return true; return false; };
  const out = [...document.body.querySelectorAll('*')].filter(
    (node) => node.getBoundingClientRect().right > wide + 1 && !inside(node));
  return [`${root.scrollWidth} px instead of ${wide}`,
    ...out.slice(0, 3).map((node) => node.outerHTML.slice(0, 120))];
}
