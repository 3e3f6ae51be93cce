/**
 * `node .ci/newcomer.mjs test|use` does what a newcomer does first, in a clone of its own in an empty folder, where nothing is installed or built.
 * `test` runs npm test and nothing before it. `use` starts the product, pastes the commands of the README, audits, stops, starts and stops again.
 * It ends with the line `N passed, N failed`. The caches of npm and of Tollgate are those of the machine.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'tollgate-newcomer-'));
const clone = path.join(folder, 'tollgate');
const outside = path.join(folder, 'hello');

/** @type {Record<string, () => boolean>} */
const WALKS = { test: () => run('npm', ['test', '--silent']).ok, use };

/** @param {string} name */
function main(name) {
  const walk = WALKS[name];
  if (!walk)
    throw new Error(`There is no walk "${name}"; there are ${Object.keys(WALKS).join(', ')}.`);
  try {
    run('git', ['clone', '--quiet', root, clone], folder);
    // Recorded traffic lies beside a checkout of ours; the specs that read it are skipped where it is missing.
    const recorded = path.resolve(root, '../shared');
    if (existsSync(recorded)) symlinkSync(recorded, path.join(folder, 'shared'));
    return walk();
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function use() {
  const readme = readFileSync(path.join(clone, 'README.md'), 'utf8');
  const steps = /** @type {[string, () => boolean][]} */ ([
    ['npm start', () => npm('start', '--', '--detach')],
    [
      "the README's curl",
      () => says(run('bash', ['-c', block(readme, 'sh', 'curl -N')]), '[DONE]'),
    ],
    [
      "the README's program with an SDK",
      () => says(runProgram(block(readme, 'js', 'import OpenAI')), ' '),
    ],
    ['npm run audit', () => npm('run', 'audit')],
    ['npm stop', () => npm('stop')],
    ['npm start, again', () => npm('start', '--', '--detach')],
    ['npm run audit, again', () => npm('run', 'audit')],
    ['npm stop, again', () => npm('stop')],
  ]);
  let passed = 0;
  try {
    for (const [name, take] of steps) {
      const startedAt = Date.now();
      const ok = take();
      passed += ok ? 1 : 0;
      console.log(
        `${ok ? 'ok  ' : 'FAIL'}  ${name}  (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`,
      );
    }
  } finally {
    if (passed < steps.length) npm('stop');
  }
  console.log(`${passed} passed, ${steps.length - passed} failed`);
  return passed === steps.length;
}

/** @param {string[]} args */
const npm = (...args) => run('npm', args).ok;

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args, cwd = clone) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  process.stdout.write(`$ ${command} ${args.join(' ')}\n${stdout}${stderr}`);
  if (error) console.error(error.message);
  return { ok: status === 0, output: stdout };
}

/** @param {string} program */
function runProgram(program) {
  mkdirSync(outside);
  run('npm', ['install', '--no-audit', '--no-fund', 'openai'], outside);
  writeFileSync(path.join(outside, 'hello.mjs'), program);
  return run('node', [path.join(outside, 'hello.mjs')]);
}

/**
 * @param {{ ok: boolean, output: string }} result
 * @param {string} text
 */
const says = ({ ok, output }, text) => ok && output.includes(text);

/**
 * Returns the fenced block of this language that contains the text.
 * @param {string} document
 * @param {string} language
 * @param {string} text
 */
function block(document, language, text) {
  const found = [...document.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].find(
    ([, tag, code]) => tag === language && code?.includes(text),
  );
  if (!found?.[2]) throw new Error(`README.md has no block of ${language} with "${text}".`);
  return found[2];
}

process.exitCode = main(process.argv[2] ?? '') ? 0 : 1;
