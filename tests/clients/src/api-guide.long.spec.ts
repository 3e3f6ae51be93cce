import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import { setScene, type Scene } from './scene.ts';

/** Every block of docs/api-guide.md is pasted and run, or is what a coding client is run with in `npm run test:clients`. */
const folder = import.meta.dirname;
const guide = readFileSync(path.join(folder, '../../../docs/api-guide.md'), 'utf8');
const run = promisify(execFile);

interface Block {
  language: string;
  info: string;
  text: string;
}
const blocks: Block[] = [...guide.matchAll(/^```(\w+)([^\n]*)\n([^]*?)^```$/gm)].map(
  ([, language = '', info = '', text = '']) => ({ language, info: info.trim(), text }),
);
const files = blocks
  .filter(({ language }) => language === 'js')
  .map(({ text }) => ({ name: /^\/\/ ([\w-]+\.mjs): npm install /.exec(text)?.[1] ?? '', text }));
/** Holds what each file can be run as, by its last argument. */
const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  'ai-sdk.mjs': ['responses', 'chat', 'compatible', 'anthropic'],
  'langchain.mjs': ['openai', 'anthropic'],
};
const RUNS = files.flatMap(({ name, text }) =>
  (VARIANTS[name] ?? ['']).map((variant) => ({ name, text, variant })),
);
const OUTPUT_TOKENS = 6;
const PROMPT = `What is the weather in Bern? @demo mode=agent tokens=${OUTPUT_TOKENS}`;

let scene: Scene;
let place: string;
beforeAll(async () => {
  // Below the packages of this workspace, so that the pasted files find the SDKs.
  const base = path.join(folder, '../node_modules/.guide');
  mkdirSync(base, { recursive: true });
  place = mkdtempSync(path.join(base, 'pasted-'));
  scene = await setScene();
}, 60_000);
afterAll(async () => {
  await scene?.tollgate.stop();
  rmSync(place, { recursive: true, force: true });
}, 30_000);

function environment(model: keyof Scene['models']): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    TOLLGATE_ORIGIN: scene.tollgate.nodeUrls[0] ?? '',
    TOLLGATE_API_KEY: scene.key,
    TOLLGATE_MODEL: scene.models[model].name,
  };
}

test('every block of the guide is a named file, a shell command, or what a coding client is run with', () => {
  expect(files.map(({ name }) => name)).not.toContain('');
  expect(new Set(files.map(({ name }) => name)).size).toBe(files.length);
  expect(files.length).toBeGreaterThanOrEqual(5);
  const others = blocks.filter(({ language, info }) => language !== 'js' && info === '');
  expect(others.map(({ language }) => language)).toEqual(['sh', 'sh']);
});

describe.each(RUNS)('$name $variant', ({ name, text, variant }) => {
  test.each(['openai', 'anthropic'] as const)(
    'runs as pasted, calls its tool and prints its usage, from an upstream of protocol %s',
    async (protocol) => {
      const file = path.join(place, name);
      writeFileSync(file, text);
      const { stdout } = await run(
        process.execPath,
        [file, PROMPT, ...(variant ? [variant] : [])],
        {
          env: environment(protocol),
          timeout: 30_000,
        },
      );
      expect(stdout).toContain(wordsUpTo(OUTPUT_TOKENS));
      expect(stdout).toMatch(/(output|completion)_?[tT]okens: [1-9]/);
    },
    45_000,
  );
});

test('the curl command answers as pasted', async () => {
  const command = blocks.find(({ text }) => text.startsWith('curl '))?.text ?? '';
  const { stdout } = await run('sh', ['-c', command], { env: environment('anthropic') });
  expect(JSON.parse(stdout)).toMatchObject({ type: 'message', role: 'assistant' });
});

describe('the coding clients', () => {
  const REGION =
    /^[ ]*(?:\/\/|#) guide: (?<name>(?!end$)[\w-]+)\n(?<text>[^]*?)^[ ]*(?:\/\/|#) guide: end$/gm;

  test('are configured in their tests as the guide says', () => {
    const drivers = readdirSync(path.join(folder, 'drivers')).map((file) =>
      readFileSync(path.join(folder, 'drivers', file), 'utf8'),
    );
    const regions = drivers.flatMap((source) => [...source.matchAll(REGION)]);
    const shown = blocks.filter(({ info }) => info.startsWith('from='));
    expect(regions.length).toBe(2);
    expect(Object.fromEntries(shown.map(({ info, text }) => [info.slice(5), plain(text)]))).toEqual(
      Object.fromEntries(
        regions.map(({ groups }) => [groups?.['name'], plain(groups?.['text'] ?? '')]),
      ),
    );
  });
});

test('every link of the guide leads to a document', () => {
  const targets = [...guide.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(
    (match) => match[1] ?? '',
  );
  expect(targets.length).toBeGreaterThan(1);
  for (const target of targets)
    expect(readFileSync(path.join(folder, '../../../docs', target), 'utf8')).not.toBe('');
});

/** Without the indentation of its place. */
function plain(text: string): string {
  const lines = text.trimEnd().split('\n');
  const indent = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(indent)).join('\n');
}
