// The page's clock stands still until `__agentrlClock.advance(ms)`: timers, animation frames, Date and performance.
// Invariant: what a page does after a given sequence of advances does not depend on how fast the machine is.
(() => {
  if (window.__agentrlClock) return;
  const RealDate = Date;
  const realFrame = window.requestAnimationFrame.bind(window);
  const realTimeout = window.setTimeout.bind(window);
  const START = RealDate.UTC(2024, 0, 15, 12, 0, 0);
  const MOST = 20000; // callbacks of one advance
  let now = START;
  let next = 0;
  const timers = new Map();

  const add = (callback, delay, args, every) => {
    const wait = Math.max(1, Number(delay) || 0);
    timers.set(++next, { at: now + wait, callback, args, every: every ? wait : 0 });
    return next;
  };
  const call = (callback, args) => {
    try {
      if (typeof callback === 'function') callback.apply(window, args);
      else (0, eval)(String(callback));
    } catch (error) {
      console.error(error);
    }
  };
  window.setTimeout = (callback, delay, ...args) => add(callback, delay, args, false);
  window.setInterval = (callback, delay, ...args) => add(callback, delay, args, true);
  window.clearTimeout = window.clearInterval = window.cancelAnimationFrame = (id) => { timers.delete(id); };
  window.requestAnimationFrame = (callback) => add(() => callback(now - START), 16, [], false);
  window.Date = new Proxy(RealDate, {
    construct: (target, args, made) => Reflect.construct(target, args.length ? args : [now], made),
    apply: () => new RealDate(now).toString(),
    get: (target, name) => (name === 'now' ? () => now : Reflect.get(target, name)),
  });
  performance.now = () => now - START;

  // Until the page seeds its own, chance is a fixed sequence too.
  let state = 1;
  Math.random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };

  const advance = (ms) => {
    const end = now + ms;
    for (let count = 0; count < MOST; count++) {
      let first = null;
      for (const [id, timer] of timers) {
        if (timer.at <= end && (first === null || timer.at < first[1].at)) first = [id, timer];
      }
      if (first === null) break;
      const [id, timer] = first;
      now = Math.max(now, timer.at);
      if (timer.every) timer.at = now + timer.every;
      else timers.delete(id);
      call(timer.callback, timer.args);
    }
    now = end;
  };
  // A frame of the real browser, so that scrolling and layout have told their listeners.
  const frame = () => new Promise((done) => { realFrame(() => done()); realTimeout(done, 100); });
  window.__agentrlClock = { advance, frame };
})();
