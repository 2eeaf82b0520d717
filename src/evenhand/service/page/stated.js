// What was stated of alarms lately: that promises were missed, are kept again, or have ended.
import { moment, several } from './format.js';
import { address, alarming } from './route.js';
import { Loader, html } from './view.js';

export const LATELY = 1000; // events among which alarms are looked for

// Events of alarms, the latest first.
export async function stated({ name, audit, service }, signal) {
  const page = `/events?limit=${LATELY}&after=${Math.max(0, audit.sequence - LATELY)}`;
  const { events } = await service.get(address(name) + page, signal);
  return events.filter(({ kind }) => kind === 'alarm').reverse();
}

// The trace of alarms of which none stands any more. It is loaded at first, and when the last of them is resolved.
export class Resolved extends Loader {
  state = { events: [] };

  componentDidMount() {
    this.load();
  }

  componentDidUpdate({ audit }) {
    if (audit.alarms.length > 0 && this.props.audit.alarms.length === 0) this.load();
  }

  async load() {
    if (this.props.audit.alarms.length > 0) return;
    try {
      this.setState({ events: await stated(this.props, this.loading.signal) });
    } catch {
      // The page shows the state of the connection; the view of alarms has them in any case.
    }
  }

  render({ name, audit }, { events }) {
    const over = events.filter(({ data }) => data.alarm !== 'promise.behind');
    if (audit.alarms.length > 0 || over.length === 0) return null;
    const count = over.reduce((sum, { data }) => sum + data.promises.length, 0);
    const [{ time }] = over;
    return html`<p class="note"><a href=${alarming(name)}>${several(count, 'alarm')}</a>, ${count > 1 && 'the last '}resolved at${' '}
      <time datetime=${time}>${moment(time)}</time></p>`;
  }
}
