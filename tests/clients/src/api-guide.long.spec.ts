import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import { setScene, type Scene } from './scene.ts';

/** Every program of docs/api-guide.md runs, and every block is pasted and run, or configures a coding client of `npm run test:clients`. */
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
const programs = path.join(folder, '../programs');
const files = readdirSync(programs);
/** Holds what each file can be run as, by its last argument. */
const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  'ai-sdk.mjs': ['responses', 'chat', 'compatible', 'anthropic'],
  'langchain.mjs': ['openai', 'anthropic'],
};
const RUNS = files.flatMap((name) =>
  (VARIANTS[name] ?? ['']).map((variant) => ({ name, variant })),
);
const OUTPUT_TOKENS = 6;
const PROMPT = `What is the weather in Bern? @demo mode=agent tokens=${OUTPUT_TOKENS}`;

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
}, 60_000);
afterAll(() => scene?.tollgate.stop(), 30_000);

function environment(model: keyof Scene['models']): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    TOLLGATE_ORIGIN: scene.tollgate.nodeUrls[0] ?? '',
    TOLLGATE_API_KEY: scene.key,
    TOLLGATE_MODEL: scene.models[model].name,
  };
}

test('the guide names every program; every block is a shell command, or configures a coding client', () => {
  expect(files.length).toBeGreaterThanOrEqual(5);
  expect(files.filter((name) => !guide.includes(`](../tests/clients/programs/${name})`))).toEqual(
    [],
  );
  const others = blocks.filter(({ info }) => info === '');
  expect(others.map(({ language }) => language)).toEqual(['sh', 'sh', 'sh']);
});

describe.each(RUNS)('$name $variant', ({ name, variant }) => {
  test.each(['openai', 'anthropic'] as const)(
    'runs, calls its tool and prints its usage, from an upstream of protocol %s',
    async (protocol) => {
      const { stdout } = await run(
        process.execPath,
        [path.join(programs, name), PROMPT, ...(variant ? [variant] : [])],
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

test('the curl commands answer as pasted', async () => {
  const commands = blocks.filter(({ text }) => text.startsWith('curl '));
  const answers = await Promise.all(
    commands.map(({ text }) => run('sh', ['-c', text], { env: environment('anthropic') })),
  );
  expect(answers.map(({ stdout }) => JSON.parse(stdout) as object)).toMatchObject([
    { type: 'message', role: 'assistant' },
    { candidates: [{ content: { role: 'model' }, finishReason: 'STOP' }] },
  ]);
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

/** Removes the indentation of its place. */
function plain(text: string): string {
  const lines = text.trimEnd().split('\n');
  const indent = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(indent)).join('\n');
}
