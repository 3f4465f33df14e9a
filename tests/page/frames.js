// Notes how long each frame takes, in milliseconds, until globalThis.frames_ is taken away.
() => {
  globalThis.frames_ = [];
  let last = performance.now();
  const tick = (now) => {
    if (!globalThis.frames_) return;
    globalThis.frames_.push(now - last);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
