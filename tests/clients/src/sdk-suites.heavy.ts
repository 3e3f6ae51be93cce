import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
  type RoutedModelOptions,
  type Tollgate,
} from '@tollgate/harness';
import { z } from 'zod';
import { inFolder, run } from './drivers/command-line.ts';
import { pythonOf, sourcesOf, type Suite } from './python-environments.ts';

/**
 * The test suites that the official Python SDKs have for their own clients run against a node in place of their mock: they send each field of each method that is
 * served, and read each answer strictly. What a mock takes and a gateway cannot is named below; any other failure is one.
 */
const environments = process.env['TOLLGATE_PYTHON_CLIENTS'] ?? '';
const ENVIRONMENT = path.join(environments, 'suites');
const SCRIPT = path.resolve(import.meta.dirname, '../python/suite.py');
const TIMEOUT_MS = 300_000;
const TOKENS = 50_000_000;
const IN_API = 'tests/api_resources';

/** Names the tests that fail, and how. */
type Explained = Readonly<Record<string, { readonly test: RegExp; readonly error: RegExp }>>;

interface SuiteRun {
  readonly base: string;
  readonly files: readonly string[];
  /** So many tests pass at least; those of a new release may be others. */
  readonly passedMin: number;
  readonly explained: { readonly everywhere: Explained; readonly translated: Explained };
}

const SUITES: Record<Suite, SuiteRun> = {
  openai: {
    base: '/v1',
    files: [
      'chat/test_completions.py',
      'test_completions.py',
      'test_conversations.py',
      'test_embeddings.py',
      'test_models.py',
      'test_responses.py',
      'responses/test_input_tokens.py',
    ],
    passedMin: 40,
    explained: {
      everywhere: {
        'stored chat completions are not served': {
          test: /chat\/test_completions.*_(retrieve|update|list|delete)/,
          error: /nothing at this path|is served with POST/,
        },
        'models are deleted by administrators': {
          test: /test_models.*_delete/,
          error: /is served with GET/,
        },
        'ids of a mock': { test: /./, error: /Nothing with the id|nothing is stored/ },
        'a request that names no model, or says nothing': {
          test: /test_(responses|input_tokens)/,
          error: /(model|input): Field required/,
        },
        'the client asks for base64, and its strict reader wants numbers, at OpenAI too': {
          test: /test_embeddings.*_create\[/,
          error: /invalid for expected schema/,
        },
      },
      translated: {
        'Claude answers no system prompt alone': {
          test: /chat\/test_completions.*_create/,
          error: /at least one message with content/,
        },
        'Claude gives no probabilities of tokens': {
          test: /chat\/test_completions.*_create_with_all_params/,
          error: /logprobs is not supported/,
        },
        'legacy completions have no translation': {
          test: /test_completions.*_create/,
          error: /no route for the completions protocol/,
        },
        'no upstream stores conversations': {
          test: /test_conversations.*_create/,
          error: /stores conversations/,
        },
        "a compacted conversation is its own upstream's": {
          test: /compact/,
          error: /cannot be called through/,
        },
      },
    },
  },
  anthropic: {
    base: '',
    files: ['test_messages.py', 'test_models.py', 'beta/test_messages.py', 'beta/test_models.py'],
    passedMin: 60,
    explained: {
      everywhere: {
        'a page begins behind a model that exists': {
          test: /test_models.*_list_with_all_params/,
          error: /there is no such model in the list/,
        },
        'the refusal on which the client sends the messages itself': {
          test: /beta\/test_messages.*_create_with_all_params/,
          error: /ThreadUnsupportedRequestError/,
        },
      },
      translated: {},
    },
  },
};

const seen = z.array(z.object({ test: z.string(), error: z.string().nullable() }));

async function runSuite(sdk: Suite, origin: string, apiKey: string): Promise<z.infer<typeof seen>> {
  const { base, files } = SUITES[sdk];
  const { code, stdout, stderr } = await inFolder((folder) =>
    run({
      program: pythonOf(ENVIRONMENT),
      // Each test has a client that reads strictly and one that does not; the strict one sees more.
      args: [SCRIPT, '-k', 'strict', ...files.map((file) => `${IN_API}/${file}`)],
      env: { HOME: folder, API_KEY: apiKey, TEST_API_BASE_URL: `${origin}${base}` },
      cwd: sourcesOf(ENVIRONMENT, sdk),
      timeoutMs: TIMEOUT_MS,
    }),
  );
  if (code !== 0) throw new Error(stderr);
  return seen.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}

/** Has the models that the suites name. */
const GPT = {
  aliases: ['model'],
  context_window: 1_000_000,
  multipliers: { 'server_tools=web_search': '1', 'nested_model=model': '1' },
};
const CLAUDE = {
  aliases: [
    'model_id',
    'claude-mythos-preview',
    'claude-opus-4-5',
    'claude-opus-4-5-20251101',
    'claude-sonnet-4-5',
    'claude-sonnet-4-5-20250929',
  ],
};
const OWN: Record<string, RoutedModelOptions> = {
  'gpt-6-astra': { ...GPT, protocols: ['openai'], upstream: { endpoints: ['responses'] } },
  'gpt-3.5-turbo-instruct': { protocols: ['openai'], upstream: { endpoints: ['completions'] } },
  'claude-opus-5-5': { ...CLAUDE, protocols: ['anthropic'] },
};
const OTHER: Record<string, RoutedModelOptions> = {
  'gpt-6-astra': { ...GPT, protocols: ['anthropic'] },
  'gpt-3.5-turbo-instruct': { protocols: ['anthropic'] },
  'claude-opus-5-5': { ...CLAUDE, protocols: ['openai'] },
};

(environments === '' ? describe.skip : describe).each([
  { whose: 'their own', models: OWN },
  { whose: 'the other', models: OTHER },
])('on upstreams of $whose protocol', ({ models }) => {
  let tollgate: Tollgate;
  let key: string;
  beforeAll(async () => {
    tollgate = await startTollgate({ nodes: 1 });
    const modelIds: number[] = [];
    for (const [name, more] of Object.entries(models))
      modelIds.push((await createRoutedModel(tollgate, { name, ...more })).id);
    const name = 'text-embedding-3-small';
    modelIds.push((await createRoutedModel(tollgate, { name, kind: 'embedding' })).id);
    key = await subscribeWithKey(await createCustomer(tollgate), { modelIds, tokens: TOKENS });
    await tollgate.admin.syncAll();
  }, 60_000);
  afterAll(() => tollgate?.stop(), 30_000);

  test.each(Object.keys(SUITES) as Suite[])(
    'the suite of %s passes but for what only a mock takes',
    async (sdk) => {
      const { explained, passedMin } = SUITES[sdk];
      const found = await runSuite(sdk, tollgate.nodeUrls[0] ?? '', key);
      const failed = found.flatMap(({ test: name, error }) =>
        error === null ? [] : [{ name, error }],
      );
      const rows = Object.entries({
        ...explained.everywhere,
        ...(models === OTHER ? explained.translated : {}),
      }).map(([why, { test: names, error: errors }]) => ({
        why,
        of: failed.filter(({ name, error }) => names.test(name) && errors.test(error)),
      }));
      const isExplained = new Set(rows.flatMap(({ of }) => of));
      expect(failed.filter((each) => !isExplained.has(each))).toEqual([]);
      expect(rows.filter(({ of }) => of.length === 0)).toEqual([]);
      expect(found.length - failed.length).toBeGreaterThanOrEqual(passedMin);
    },
    TIMEOUT_MS,
  );
});
