() => [...document.querySelectorAll('*')].flatMap((node) => [...node.attributes]
  .filter(({name}) => /^(on|hx-on|srcdoc)/.test(name))
  .map(({name}) => `${name} of ${node.outerHTML.slice(0, 100)}`))
