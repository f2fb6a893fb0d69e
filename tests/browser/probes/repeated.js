(most) => {
  const name = (node) => `${node.localName}.${node.getAttribute('class') ?? ''}`;
  const place = (node) => (node.localName === 'main' ? '' : `${place(node.parentElement)} ${name(node)}`);
  const look = (node) => [...new Set([...node.querySelectorAll('*')].map(name))].sort().join(' ');
  const met = new Map();
  for (const row of document.querySelectorAll('main :is(tr, li, details)')) {
    if (!row.isConnected) continue;
    const key = `${place(row)}: ${look(row)}`, times = (met.get(key) ?? 0) + 1;
    met.set(key, times);
    if (times > most) row.remove();
  }
}
