// Copies the libraries of the page out of node_modules, byte for byte, with their licences: npm ci && npm run copy
// The versions and their integrity stand in package-lock.json. With --check nothing is written; what differs is named.
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const FILES = {
  'echarts/dist/echarts.common.min.js': 'echarts.common.min.js',
  'echarts/LICENSE': 'licences/echarts.txt',
  'echarts/NOTICE': 'licences/echarts-notice.txt',
  'echarts/licenses/LICENSE-d3': 'licences/echarts-d3.txt',
  'zrender/LICENSE': 'licences/zrender.txt', // part of echarts' file, and so is tslib
  'tslib/LICENSE.txt': 'licences/tslib.txt',
  'htm/dist/htm.mjs': 'htm.mjs',
  'htm/LICENSE': 'licences/htm.txt',
  'preact/dist/preact.mjs': 'preact.mjs',
  'preact/LICENSE': 'licences/preact.txt',
};

function same(one, other) {
  try {
    return readFileSync(one).equals(readFileSync(other));
  } catch {
    return false;
  }
}

const check = process.argv.includes('--check');
mkdirSync(join(HERE, 'licences'), { recursive: true });
for (const [source, target] of Object.entries(FILES)) {
  const [from, to] = [join(HERE, 'node_modules', source), join(HERE, target)];
  if (!check) copyFileSync(from, to);
  else if (!same(from, to)) {
    console.error(`${target} differs from ${source}`);
    process.exitCode = 1;
  }
}
