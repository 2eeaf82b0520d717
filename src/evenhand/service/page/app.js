// The page: which view is shown, which requests it needs, and what it shows when the service does not answer.
import { administers } from './access.js';
import { Alarms } from './alarms.js';
import { Allocation, LOADED } from './allocation.js';
import { Refused, Service, Unreachable, secret } from './api.js';
import { Banner, Connection } from './connection.js';
import { Create } from './create.js';
import { Edit } from './edit.js';
import { KeyForm, WITHOUT_KEY, lacking } from './key.js';
import { List } from './list.js';
import { Poll } from './poll.js';
import { address, keep, routeOf } from './route.js';
import { Definitions } from './terms.js';
import { Component, Name, html, render } from './view.js';
import { speak } from './words.js';

const UNREAD = { list: null, audit: null, described: null, missing: '' };

class App extends Component {
  state = {
    ...UNREAD,
    route: routeOf(location.hash),
    loaded: LOADED,
    access: null,
    asking: '',
    link: { kind: 'first' },
  };
  service = new Service();
  poll = new Poll((signal) => this.update(signal));

  componentDidMount() {
    window.addEventListener('hashchange', () => this.go());
    this.poll.now();
  }

  componentDidUpdate() {
    const { route, audit } = this.state;
    const place = route.name ?? (route.view === 'new' ? 'New allocation' : 'Allocations');
    document.title = `${audit?.fault ? '⚠ ' : ''}${place} · Evenhand`;
  }

  // A new view: pending requests of the old one must not change it.
  restart(change, after) {
    this.poll.halt();
    this.setState(change, () => {
      after?.();
      this.poll.now();
    });
  }

  go() {
    this.service = new Service();
    speak(null);
    this.restart({ ...UNREAD, route: routeOf(location.hash), loaded: LOADED }, () => {
      document.querySelector('h1')?.focus();
      window.scrollTo(0, 0);
    });
  }

  // What is chosen in a view stays in its address.
  choose(change) {
    const { route } = this.state;
    const all = Object.entries({ ...route.chosen, ...change });
    const chosen = Object.fromEntries(all.filter(([, value]) => value !== '').map(([key, value]) => [key, String(value)]));
    keep(chosen);
    this.setState({ route: { ...route, chosen } });
  }

  useKey(key) {
    secret.value = key;
    this.restart({ ...UNREAD, access: null, asking: '' });
  }

  async update(signal) {
    try {
      const access = this.state.access ?? (await this.enter(signal));
      const view = await this.load(signal);
      signal.throwIfAborted();
      this.setState({ access, ...view, missing: '', link: { kind: 'live', at: Date.now() / 1000 } });
    } catch (error) {
      signal.throwIfAborted();
      return this.fail(error);
    }
  }

  async enter(signal) {
    const access = await this.service.get('v1/access', signal);
    if (!access.open && !access.scopes.includes('read')) throw new Refused(403, 'forbidden', lacking(access));
    return access;
  }

  async load(signal) {
    const { name, view } = this.state.route;
    if (view === 'new') return { access: await this.enter(signal) };
    if (name === null) return { list: await this.list(signal) };
    const described = this.state.described ?? (await this.service.get(address(name), signal));
    const arms = this.state.audit?.arms ?? described.arms.length;
    const audit = await this.service.get(address(name) + auditPath(arms, this.state.loaded), signal);
    speak(audit.words);
    const fresh = described.version === audit.version;
    return { audit, described: fresh ? described : await this.service.get(address(name), signal) };
  }

  // All allocations, page by page. The service loads each for its health, after its start some 15 ms for each, so that the
  // first page is short and is shown at once.
  async list(signal) {
    const list = [];
    for (let cursor = ''; cursor !== null; ) {
      const after = cursor && `&cursor=${encodeURIComponent(cursor)}`;
      const page = await this.service.get(`v1/allocations?limit=${cursor ? 200 : 50}&health=true${after}`, signal);
      list.push(...page.allocations);
      cursor = page.next;
      if (cursor !== null && (this.state.list?.length ?? 0) < list.length) this.setState({ list: [...list] });
    }
    return list;
  }

  // Shows an error; false if a retry cannot help.
  fail(error) {
    if (!(error instanceof Refused || error instanceof Unreachable)) console.error(error);
    if (error.status === 401 || error.status === 403) {
      const asking = error.status === 403 ? error.message : secret.value === null ? WITHOUT_KEY : error.message;
      secret.value = null;
      this.setState({ ...UNREAD, access: null, asking });
      return false;
    }
    if (error.status === 404) {
      this.setState({ ...UNREAD, missing: error.message, link: { kind: 'live', at: Date.now() / 1000 } });
    } else {
      const answers = error instanceof Refused;
      this.setState(({ link }) => ({ link: { kind: 'away', at: link.at, why: error.message, answers } }));
    }
    return true;
  }

  view() {
    const { route, asking, missing, list, audit, described, loaded, access } = this.state;
    if (asking) return html`<${KeyForm} asking=${asking} onKey=${(key) => this.useKey(key)} />`;
    const { service } = this;
    const view = { access, service, chosen: route.chosen, onChoose: (change) => this.choose(change) };
    if (route.view === 'new') return html`<${Create} ...${view} />`;
    if (route.name === null) return html`<${List} list=${list} administers=${administers(access)} ...${view} />`;
    if (missing) return html`<${Missing} name=${route.name} />`;
    const shown = { name: route.name, audit, described, loaded, ...view };
    if (route.view === 'edit') return html`<${Edit} key=${route.name} ...${shown} onChanged=${() => this.poll.now()} />`;
    if (route.view === 'alarms') return html`<${Alarms} key=${route.name} ...${shown} />`;
    const more = (loaded) => this.restart({ loaded });
    return html`<${Allocation} key=${route.name} ...${shown} onMore=${more} />`;
  }

  render() {
    const { access, asking, link } = this.state;
    const seen = asking ? { kind: 'key' } : link;
    return html`
      <a class="skip" href="#main" onClick=${toMain}>Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/">Evenhand</a>
        <${Connection} link=${seen} />
        ${access && !access.open && html`<${Holder} access=${access} onLeave=${() => this.useKey(null)} />`}
      </header>
      <${Banner} link=${seen} />
      <main id="main" tabindex="-1">${this.view()}</main>
      <${Definitions} />
    `;
  }
}

// The path of the audit. Without a limit the lines are in the order of the arms, and stay in place.
const auditPath = (arms, loaded) => (arms <= loaded ? '/audit' : `/audit?limit=${loaded}`);

// The address after # selects the view, so the skip link must not change it.
function toMain(event) {
  event.preventDefault();
  document.getElementById('main').focus();
}

function Missing({ name }) {
  return html`
    <nav aria-label="Where you are"><a href="#/">Allocations</a></nav>
    <h1 tabindex="-1"><${Name} of=${name} /></h1>
    <p role="alert">There is no allocation of this name. When there is one, it is shown here.</p>
  `;
}

function Holder({ access, onLeave }) {
  return html`<p class="holder">
    Key <${Name} of=${access.name ?? 'without a name'} />
    <button type="button" onClick=${onLeave}>Forget the key</button>
  </p>`;
}

render(html`<${App} />`, document.getElementById('app'));
