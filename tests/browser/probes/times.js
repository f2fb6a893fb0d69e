() => [...document.querySelectorAll('time')].map((time) => ({at: time.dateTime, title: time.title, text: time.innerText}))
