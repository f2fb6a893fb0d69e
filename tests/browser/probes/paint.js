() => new Promise((resolve) => {
  const seen = () => performance.getEntriesByName('first-contentful-paint')[0];
  if (seen()) { resolve(seen().startTime); return; }
  new PerformanceObserver(() => { if (seen()) resolve(seen().startTime); }).observe({type: 'paint', buffered: true});
})
