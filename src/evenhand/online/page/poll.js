// Looks again and again, a little after each answer; not while nobody can see the page.
const PAUSE = 1000; // ms between an answer and the next question
const LONGEST = 30_000;

export class Poll {
  // look(signal) asks and shows; it throws nothing but AbortError, and false from it ends the polling.
  constructor(look) {
    this.look = look;
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
    let goesOn;
    try {
      goesOn = await this.look(flight.signal);
    } catch (error) {
      if (flight.signal.aborted) return;
      throw error;
    }
    // Long answers, of very many arms, are asked for less often.
    const pause = Math.min(Math.max(PAUSE, 3 * (performance.now() - began)), LONGEST);
    if (flight === this.flight && goesOn !== false) this.timer = setTimeout(() => this.turn(), pause);
  }
}
