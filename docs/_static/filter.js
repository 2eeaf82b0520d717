// A table within "filtered" gets a choice for each column of few values, and one for the largest number of the last column.
'use strict';

document.addEventListener('DOMContentLoaded', () => document.querySelectorAll('.filtered table').forEach((table) => {
  const rows = [...table.tBodies[0].rows];
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const text = (row, column) => row.cells[column].textContent.trim();
  const last = heads.length - 1;
  const bar = document.createElement('p');
  const count = document.createElement('output');
  const chosen = new Map();

  const show = () => {
    const suits = (row) => [...chosen].every(([column, value]) => !value || (column === last
      ? Number(text(row, column)) <= Number(value) : text(row, column) === (value === 'no' ? '' : value)));
    rows.forEach((row) => { row.hidden = !suits(row); });
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  };

  const choice = (column, values, words = (value) => value) => {
    const label = document.createElement('label');
    const select = document.createElement('select');
    select.append(new Option('any', ''), ...values.map((value) => new Option(words(value), value)));
    select.addEventListener('change', () => { chosen.set(column, select.value); show(); });
    label.append(`${heads[column]} `, select);
    bar.append(label);
  };

  heads.forEach((_, column) => {
    const values = [...new Set(rows.map((row) => text(row, column) || 'no'))];
    if (column === last) choice(column, ['2', '5', '10'], (value) => `at most ${value}`);
    else if (values.length < 9) choice(column, values);
  });
  bar.className = 'filters';
  bar.append(count);
  table.before(bar);
  show();
}));
