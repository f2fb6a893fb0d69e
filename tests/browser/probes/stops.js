() => {
  const hidden = (node) => !node.checkVisibility({visibilityProperty: true}) || node.closest('[inert]');
  const roving = '[role=tablist], [role=grid], [role=tree], [role=listbox], [role=menu], [role=toolbar], [role=log], svg';
  const stops = window.stopsOfTest = [];
  for (const node of document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex], [role=button]')) {
    if (hidden(node) || node.disabled || node.type === 'hidden' || node.id === 'main' || node.matches('.skip')) continue;
    if (node.tabIndex < 0 && (node.closest(roving) || !node.matches('a, button, input, select, textarea, summary'))) continue;
    if (node.type === 'radio' && !node.checked) continue;
    stops.push(node);
  }
  return stops.length;
}
