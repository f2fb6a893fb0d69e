() => document.getAnimations().filter((one) => one.playState === 'running' && one.effect?.getComputedTiming().duration > 1)
  .map((one) => one.effect.target?.outerHTML.slice(0, 100))
