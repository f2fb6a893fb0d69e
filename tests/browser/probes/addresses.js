() => ['href', 'src', 'action', 'formaction', 'xlink:href', 'hx-get', 'poster', 'data'].flatMap((name) =>
  [...document.querySelectorAll(`[${name.replace(':', '\\:')}]`)].map((node) => node.getAttribute(name)))
  .filter((text) => text && !/^(https?:|mailto:|[/?#.]|[\w-]+$)/i.test(text.replace(/[\s\0-\x1f]/g, '')))
