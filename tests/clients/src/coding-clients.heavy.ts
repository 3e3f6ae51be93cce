import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import type { Errand } from './client.ts';
import { claudeCode, readClaudeReport } from './drivers/claude-code.ts';
import { codex, readCodexEvents, type CodexEvent } from './drivers/codex.ts';
import { inFolder, type Finished } from './drivers/command-line.ts';
import { booked, FEW_PROVIDER_NAMES, overTheWire, setScene, type Scene } from './scene.ts';
import type { Wiretap } from './wiretap.ts';

/** Claude Code and Codex run headless, as published: each runs a shell command that its model asked for. `npm run test:clients` installs them first. */
const cacheFolder = process.env['TOLLGATE_CODING_CLIENTS'] ?? '';
const OUTPUT_TOKENS = 5;
const MODELS = ['openai', 'anthropic', ...FEW_PROVIDER_NAMES];

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
}, 120_000);
afterAll(() => scene?.tollgate.stop(), 30_000);

/** Has the demo upstream call the client's own shell tool. */
function shellPrompt(tool: string, args: object): string {
  return `Do it. @demo mode=agent tokens=${OUTPUT_TOKENS} tool=${tool} args=${Buffer.from(JSON.stringify(args)).toString('base64url')}`;
}
const COMMAND = 'printf proven > proof.txt; echo "this proves it"';
const CLAUDE_PROMPT = shellPrompt('Bash', { command: COMMAND, description: 'Leaves a proof' });
const CODEX_PROMPT = shellPrompt('exec_command', { cmd: COMMAND });

interface Journey {
  finished: Finished;
  tap: Wiretap;
  hasProof: boolean;
}

function journey(
  errand: { model: string; prompt: string; apiKey?: string },
  client: (errand: Errand, place: { folder: string; cacheFolder: string }) => Promise<Finished>,
): Promise<Journey> {
  return inFolder(async (folder) => {
    const { outcome, tap } = await overTheWire(scene, errand, (given) =>
      client(given, { folder, cacheFolder }),
    );
    if (outcome.status === 'rejected') throw outcome.reason;
    return { finished: outcome.value, tap, hasProof: existsSync(path.join(folder, 'proof.txt')) };
  });
}

async function expectBooked(
  tap: Wiretap,
  usage: { input_tokens: number; output_tokens: number } | undefined,
): Promise<void> {
  const { input, output, outcomes } = await booked(scene, tap.inference);
  expect(outcomes).toEqual(['completed, reported', 'completed, reported']);
  expect(usage).toMatchObject({ input_tokens: input, output_tokens: output });
  expect(output).toBe(2 * OUTPUT_TOKENS);
}

const badKey = (): string => `${scene.key.slice(0, -4)}AAAA`;

describe('claude -p', () => {
  test.each(MODELS)(
    'runs the command its model asks for and shows the tokens that are booked, from an upstream of %s',
    async (model) => {
      const { finished, tap, hasProof } = await journey(
        { model, prompt: CLAUDE_PROMPT },
        claudeCode,
      );
      const report = readClaudeReport(finished);
      expect(report).toMatchObject({
        is_error: false,
        result: wordsUpTo(OUTPUT_TOKENS),
        num_turns: 2,
      });
      expect(hasProof).toBe(true);
      expect(tap.inference.at(-1)?.body).toContain('this proves it');
      expect(tap.calls.every(({ status }) => status === 200)).toBe(true);
      await expectBooked(tap, report.usage);
    },
    90_000,
  );

  test.each([
    ['a bad key', badKey, 401, 'API key'],
    ['an empty balance', () => scene.poorKey, 402, 'balance'],
  ] as const)(
    'stops at %s, after one request, with the reason',
    async (_what, apiKey, status, words) => {
      const { finished, tap } = await journey(
        { model: 'anthropic', prompt: CLAUDE_PROMPT, apiKey: apiKey() },
        claudeCode,
      );
      expect(tap.inference.map((call) => call.status)).toEqual([status]);
      const report = readClaudeReport(finished);
      expect(report.is_error).toBe(true);
      expect(report.result).toContain(words);
    },
    90_000,
  );
});

describe('codex exec', () => {
  const usageOf = (events: readonly CodexEvent[]): CodexEvent['usage'] =>
    events.find(({ type }) => type === 'turn.completed')?.usage;

  test.each([...MODELS, 'native'])(
    'runs the command its model asks for and shows the tokens that are booked, from an upstream of %s',
    async (model) => {
      const { finished, tap, hasProof } = await journey({ model, prompt: CODEX_PROMPT }, codex);
      const events = readCodexEvents(finished);
      expect(finished.code).toBe(0);
      expect(events.findLast(({ item }) => item?.type === 'agent_message')?.item?.text).toBe(
        wordsUpTo(OUTPUT_TOKENS),
      );
      expect(hasProof).toBe(true);
      expect(tap.inference.at(-1)?.body).toContain('this proves it');
      await expectBooked(tap, usageOf(events));
    },
    90_000,
  );

  test.each([
    // It repeats a 401 `stream_max_retries` times, which is 5 by default, against any provider.
    ['a bad key', badKey, Array.from({ length: 6 }, () => 401)],
    ['an empty balance', () => scene.poorKey, [429]],
  ] as const)(
    'stops at %s',
    async (_what, apiKey, statuses) => {
      const { finished, tap } = await journey(
        { model: 'openai', prompt: CODEX_PROMPT, apiKey: apiKey() },
        codex,
      );
      expect(finished.code).not.toBe(0);
      expect(tap.inference.map((call) => call.status)).toEqual(statuses);
      expect(readCodexEvents(finished).some(({ type }) => type === 'turn.failed')).toBe(true);
    },
    90_000,
  );

  test('falls back to plain requests when its web socket is refused', async () => {
    const { finished, tap } = await journey(
      { model: 'openai', prompt: CODEX_PROMPT },
      (errand, place) => codex(errand, { ...place, extra: 'supports_websockets = true' }),
    );
    expect(tap.calls.map(({ method, status }) => `${method} ${status}`)).toEqual([
      'GET 426',
      'POST 200',
      'POST 200',
    ]);
    expect(finished.code).toBe(0);
    await expectBooked(tap, usageOf(readCodexEvents(finished)));
  }, 90_000);
});
