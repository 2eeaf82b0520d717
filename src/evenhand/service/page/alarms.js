// The alarms of an allocation, and the webhooks to which they and other events are sent.
import { administers } from './access.js';
import { moment, several, whole } from './format.js';
import { Badge } from './health.js';
import { address, link, where } from './route.js';
import { LATELY, stated } from './stated.js';
import { Form, Problem } from './submit.js';
import { Ago, Name, html } from './view.js';
import { say } from './words.js';

const SHOWN = 50; // of these alarms, at most
const STATED = {
  'promise.behind': { state: 'bad', text: 'missed' },
  'promise.kept_again': { state: 'good', text: 'kept again' },
  'promise.ended': { state: 'closed', text: 'ended' },
};

export class Alarms extends Form {
  state = { events: null, webhooks: null, url: '', all: false, secret: '', removing: '', busy: false, error: null };

  componentDidMount() {
    this.load();
  }

  // What was stated changes with the alarms that stand, and deliveries with every event.
  componentDidUpdate({ audit }) {
    if (audit?.sequence !== this.props.audit?.sequence) this.load();
  }

  async load() {
    const { name, audit, service, access } = this.props;
    if (!audit) return;
    const { signal } = this.loading;
    try {
      const events = await stated(this.props, signal);
      const hooks = administers(access) ? await service.get(`${address(name)}/webhooks`, signal) : { webhooks: null };
      this.setState({ events, webhooks: hooks.webhooks });
    } catch {
      // The page shows the state of the connection, and loads again with the next event.
    }
  }

  async add(event) {
    event.preventDefault();
    const { name, service } = this.props;
    const { url, all } = this.state;
    const body = { url: url.trim(), ...(!all && { kinds: ['alarm'] }) };
    const done = await this.attempt(async () => {
      const made = await service.change(`${address(name)}/webhooks`, body);
      this.setState({ url: '', secret: made.secret });
    });
    if (done) this.load();
  }

  async remove(id) {
    const { name, service } = this.props;
    if (await this.attempt(() => service.remove(`${address(name)}/webhooks/${encodeURIComponent(id)}`))) {
      this.setState({ removing: '' });
      this.load();
    }
  }

  hook(one) {
    const { removing, busy } = this.state;
    const state = one.disabled ? { state: 'bad', text: 'disabled' } : one.failing ? { state: 'attention', text: 'failing' } : { state: 'good', text: 'working' };
    const sure = html`<button type="button" class="main" disabled=${busy} onClick=${() => this.remove(one.id)}>Remove ${one.url}</button>${' '}
      <button type="button" onClick=${() => this.setState({ removing: '' })}>Cancel</button>`;
    return html`<li key=${one.id}>
      <p><${Name} of=${one.url} />${' '}<${Badge} ...${state} /></p>
      <p class="soft">${one.kinds ? `Events of the kind ${one.kinds.join(', ')}` : 'All events'}, up to event ${whole(one.sequence)}; registered <${Ago} time=${one.created} />.${
        one.error && html`${' '}The last try failed: <bdi>${one.error}</bdi>.`}${
        one.failing && html`${' '}Nothing has been delivered since <${Ago} time=${one.failing} />.`}</p>
      ${one.deliveries.length > 0 && html`<details><summary>Last ${several(one.deliveries.length, 'try', 'tries')}</summary><${Tries} of=${one.deliveries} /></details>`}
      ${removing === one.id ? sure : html`<button type="button" aria-label=${`Remove ${one.url}`}
        onClick=${() => this.setState({ removing: one.id })}>Remove</button>`}
    </li>`;
  }

  webhooks() {
    const { webhooks, url, all, secret, busy, error } = this.state;
    const kinds = html`<label class="tick"><input type="checkbox" checked=${all} onChange=${() => this.setState({ all: !all })} /> all events, not only alarms</label>`;
    return html`
      ${webhooks?.length === 0 && html`<p>There is none: only who looks at this page learns of alarms.</p>`}
      <ul class="webhooks">${webhooks?.map((one) => this.hook(one))}</ul>
      <form class="form" ref=${this.here} onSubmit=${(event) => this.add(event)}>
        <label>Address to which alarms are sent<input type="url" required maxlength="2000" autocomplete="off" placeholder="https://…"
          value=${url} onInput=${({ target }) => this.setState({ url: target.value, secret: '' })} /></label>
        ${kinds}
        <${Problem} error=${error} />
        <div class="row"><button type="submit" disabled=${busy}>Add the webhook</button></div>
        ${secret && html`<p role="status">It is signed with this secret, which is shown only now: <code>${secret}</code></p>`}
      </form>`;
  }

  render({ name, audit, access }, { events }) {
    const command = `evenhand client webhook list ${name}${where()}`;
    return html`
      <nav aria-label="Where you are"><a href="#/">Allocations</a> › <a href=${link(name)}><${Name} of=${name} /></a></nav>
      <h1 tabindex="-1">Alarms of <${Name} of=${name} /></h1>
      ${audit ? html`<p class="verdict"><bdi>${audit.verdict}</bdi></p>` : html`<p class="note">Loading…</p>`}
      ${audit && html`<section aria-labelledby="standing"><h2 id="standing">Alarms that stand</h2><${Standing} alarms=${audit.alarms} /></section>
        <section aria-labelledby="stated"><h2 id="stated">What was stated lately</h2><${Stated} events=${events} /></section>
        <section aria-labelledby="webhooks"><h2 id="webhooks">Webhooks</h2>
          ${administers(access) ? this.webhooks() : html`<p class="note">They can be seen with a key that may administer, or by <code>${command}</code>.</p>`}
        </section>`}
    `;
  }
}

function Standing({ alarms }) {
  if (alarms.length === 0) return html`<p>None. An alarm is stated where a promise is missed, and stands until it is kept again.</p>`;
  const one = ({ name, since, round, text }) => html`<li key=${name}><bdi>${text}</bdi> <span class="soft">Found <${Ago} time=${since} />, after round ${whole(round)}.</span></li>`;
  return html`<ul>${alarms.map(one)}</ul>`;
}

// What was stated of a promise, in the words of the allocation; the name stays as it is.
const inWords = ({ text, arm, group }) => text.split(arm ?? group).map(say).join(arm ?? group);

function Stated({ events }) {
  if (events === null) return html`<p class="note">Loading…</p>`;
  if (events.length === 0) return html`<p>No alarm among the last ${whole(LATELY)} events.</p>`;
  const one = ({ sequence, time, round, data }) => html`<li key=${sequence}><time datetime=${time}>${moment(time)}</time>, after round ${whole(round)}
    ${data.promises.map((promise) => html`<p><${Badge} ...${STATED[data.alarm] ?? { state: 'plain', text: data.alarm }} /> <bdi>${inWords(promise)}</bdi></p>`)}</li>`;
  return html`<ul class="stated">${events.slice(0, SHOWN).map(one)}</ul>`;
}

function Tries({ of }) {
  const row = ({ sequence, attempt, sent, seconds, status, error }) => html`<tr><td class="number">${whole(sequence)}</td><td>${moment(sent)}</td>
    <td class="number">${whole(attempt)}</td><td class="number">${seconds.toFixed(2)} s</td><td>${error === null ? status : html`<bdi>${error}</bdi>`}</td></tr>`;
  const heads = ['Event', 'Sent', 'Try', 'Took', 'Answer'];
  return html`<div class="scroll" role="region" aria-label="Last tries" tabindex="0"><table>
    <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${of.map(row)}</tbody></table></div>`;
}
