// Where the site has several versions beside each other, a choice of them below the name.
'use strict';

document.addEventListener('DOMContentLoaded', async () => {
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  if (root.protocol === 'file:') return;
  const answer = await fetch(new URL('../versions.json', root)).catch(() => null);
  const names = answer?.ok ? await answer.json() : [];
  const here = root.pathname.split('/').at(-2);
  if (!names.includes(here) || names.length < 2) return;
  const select = document.createElement('select');
  select.setAttribute('aria-label', 'Version');
  select.append(...names.map((name) => new Option(name, name, false, name === here)));
  select.addEventListener('change', () => { location.href = new URL(`../${select.value}/`, root); });
  document.querySelector('.sidebar-brand')?.after(select);
});
