// What a key allows on this page.
import { Name, html } from './view.js';

export const administers = (access) => Boolean(access) && (access.open || access.scopes.includes('administer'));

// Why there are no buttons that change something.
export function ReadOnly({ access }) {
  return html`<p class="note read-only">The key <${Name} of=${access.name ?? 'without a name'} /> can only read. To create
    and change allocations here, enter a key that also has the scope “administer”.</p>`;
}
