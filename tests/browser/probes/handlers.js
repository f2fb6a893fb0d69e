() => [...document.querySelectorAll('*')].flatMap((node) => [...node.attributes]
  .filter(({name}) => /^(on|hx-on|srcdoc|style)/.test(name))
  .map(({name}) => `${name} of ${node.outerHTML.slice(0, 100)}`))
