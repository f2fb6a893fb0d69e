() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const of = (one) => { const style = getComputedStyle(one);
    return `${style.outlineStyle} ${style.outlineWidth} ${style.outlineColor} ${style.boxShadow} ${style.backgroundColor} `
      + `${style.borderColor} ${style.textDecorationLine} ${style.stroke} ${style.strokeWidth}`; };
  const places = [node, node.parentElement, ...node.querySelectorAll('*')].slice(0, 12);
  const now = places.map(of).join();
  const box = node.getBoundingClientRect();
  node.blur();
  const then = places.map(of).join();
  node.focus({preventScroll: true});
  return {stop: window.stopsOfTest.indexOf(node), seen: now !== then || getComputedStyle(node).outlineStyle === 'auto',
    inWindow: box.bottom > 0 && box.top < innerHeight, html: node.outerHTML.slice(0, 140)};
}
