// Updates the page again and again, a little after each answer; not while the page is hidden.
const PAUSE = 1000; // ms between an answer and the next request
const LONGEST = 30_000;

export class Poll {
  // update(signal) requests and shows data; it throws nothing but AbortError, and returns false to end the polling.
  constructor(update) {
    this.update = update;
    this.timer = null;
    this.flight = null;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.halt() : this.now()));
    window.addEventListener('online', () => this.now());
  }

  now() {
    this.halt();
    if (!document.hidden) this.turn();
  }

  halt() {
    clearTimeout(this.timer);
    this.flight?.abort();
    this.flight = null;
  }

  async turn() {
    const flight = (this.flight = new AbortController());
    const began = performance.now();
    let continues;
    try {
      continues = await this.update(flight.signal);
    } catch (error) {
      if (flight.signal.aborted) return;
      throw error;
    }
    // Answers that take long, with very many arms, are requested less often.
    const pause = Math.min(Math.max(PAUSE, 3 * (performance.now() - began)), LONGEST);
    if (flight === this.flight && continues !== false) this.timer = setTimeout(() => this.turn(), pause);
  }
}
