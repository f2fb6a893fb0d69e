(numbers) => numbers.map((number) => window.stopsOfTest[number])
  .filter((node) => node.isConnected && node.checkVisibility()).map((node) => node.outerHTML.slice(0, 140))
