import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import { z } from 'zod';
import { inFolder, run } from './drivers/command-line.ts';
import { errorCases, type ErrorCase, type Raised } from './error-cases.ts';
import { pythonOf } from './python-environments.ts';
import {
  booked,
  CONTINUES,
  FEW_PROVIDER_NAMES,
  overTheWire,
  setScene,
  type Scene,
} from './scene.ts';

/** The Python client libraries are those that people use, as published. `npm run test:clients` installs them; without Python they are omitted, with a message. */
const environments = process.env['TOLLGATE_PYTHON_CLIENTS'] ?? '';
const SCRIPT = path.resolve(import.meta.dirname, '../python/client.py');
const OUTPUT_TOKENS = 7;
const PROMPT = `What is the weather in Bern? @demo mode=agent tokens=${OUTPUT_TOKENS}`;
/** Importing a library alone takes half a minute beside other work. */
const TIMEOUT_MS = 180_000;

interface PythonClient {
  readonly name: string;
  /** It asks for a value in the form of a tool's input, in one request. */
  readonly isOneRequest?: true;
  /** Reads the prompt from a stream's first event alone: wrong with Anthropic itself too. */
  readonly miscountsStreams?: true;
  /** It asks for a thread; where its upstream keeps none it sends the messages itself from then on. */
  readonly asksForThread?: true;
  /** Names its list in `python/requirements`, where that is not the one of most. */
  readonly environment?: 'instructor';
}
const CLIENTS: readonly PythonClient[] = [
  { name: 'openai chat' },
  { name: 'openai responses' },
  { name: 'anthropic' },
  { name: 'anthropic tool runner', asksForThread: true },
  { name: 'anthropic tool runner, streaming', asksForThread: true },
  { name: 'langchain-openai' },
  { name: 'langchain-anthropic', miscountsStreams: true },
  { name: 'instructor', isOneRequest: true, environment: 'instructor' },
  { name: 'pydantic-ai' },
  { name: 'litellm (openai)' },
  { name: 'litellm (anthropic)' },
  { name: 'openai-agents' },
  { name: 'google-genai' },
];

/** Names clients of /v1/responses, which some upstreams serve themselves. */
const OF_RESPONSES = new Set(['openai responses', 'openai-agents']);

const conversation = z.object({
  text: z.string(),
  tool_inputs: z.array(z.unknown()),
  usage: z.object({ input: z.number(), output: z.number() }),
});
const raised = z.array(
  z.object({ exception: z.string().nullable(), status: z.number().nullable() }),
);

async function runPython(
  args: readonly string[],
  env: Record<string, string>,
  environment = 'most',
): Promise<unknown> {
  const { code, stdout, stderr } = await inFolder((folder) =>
    run({
      program: pythonOf(path.join(environments, environment)),
      args: [SCRIPT, ...args],
      // LiteLLM would fetch its table of prices, and send statistics, where it may.
      env: { HOME: folder, LITELLM_LOCAL_MODEL_COST_MAP: 'True', ...env },
      cwd: folder,
      timeoutMs: TIMEOUT_MS,
    }),
  );
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

(environments === '' ? describe.skip : describe)('Python', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await setScene();
  }, 120_000);
  afterAll(() => scene?.tollgate.stop(), 30_000);

  describe.each(CLIENTS)(
    '$name',
    ({ name, isOneRequest, miscountsStreams, asksForThread, environment }) => {
      const models = [
        ...['openai', 'anthropic', ...FEW_PROVIDER_NAMES],
        ...(OF_RESPONSES.has(name) ? ['native'] : []),
        ...(asksForThread ? ['threads'] : []),
      ];
      test.each(models)(
        'runs its tool and shows the tokens that are booked, from an upstream of %s',
        async (model) => {
          const { outcome, tap } = await overTheWire(scene, { model, prompt: PROMPT }, (errand) =>
            runPython(
              ['converse', name],
              {
                ORIGIN: errand.origin,
                API_KEY: errand.apiKey,
                MODEL: errand.model,
                PROMPT: errand.prompt,
              },
              environment,
            ),
          );
          if (outcome.status === 'rejected') throw outcome.reason;
          const { text, tool_inputs: inputs, usage } = conversation.parse(outcome.value);
          expect(inputs).toEqual([{ city: 'Bern' }]);
          expect(text).toBe(wordsUpTo(OUTPUT_TOKENS));
          const requests = isOneRequest ? 1 : 2;
          const isKept = model === 'threads';
          const refused = asksForThread && !isKept ? [400] : [];
          expect(tap.inference.map(({ status }) => status)).toEqual([
            ...refused,
            ...Array<number>(requests).fill(200),
          ]);
          const served = tap.inference.slice(refused.length);
          expect(CONTINUES.test(served.at(-1)?.body ?? '')).toBe(isKept);
          const { outcomes, ...tokens } = await booked(scene, served);
          expect(outcomes).toEqual(Array(requests).fill('completed, reported'));
          expect(tokens.output).toBe(requests * OUTPUT_TOKENS);
          if (!miscountsStreams) expect(usage).toEqual(tokens);
        },
        TIMEOUT_MS,
      );
    },
  );

  test.each(
    ['openai chat', 'openai responses', 'anthropic', 'pydantic-ai'].flatMap((name) =>
      (['openai', 'anthropic'] as const).map((model) => [name, model] as const),
    ),
  )(
    '%s reads the object that its class asks for, from an upstream of protocol %s',
    async (name, model) => {
      const weather = { city: 'Bern', celsius: 21 };
      const text = Buffer.from(JSON.stringify(weather)).toString('base64url');
      const prompt = `What is the weather in Bern? @demo text=${text}`;
      const { outcome, tap } = await overTheWire(scene, { model, prompt }, (errand) =>
        runPython(['parse', name], {
          ORIGIN: errand.origin,
          API_KEY: errand.apiKey,
          MODEL: errand.model,
          PROMPT: errand.prompt,
        }),
      );
      if (outcome.status === 'rejected') throw outcome.reason;
      expect(outcome.value).toEqual(weather);
      expect(tap.inference.map(({ status }) => status)).toEqual([200]);
    },
    TIMEOUT_MS,
  );

  test(
    'openai begins responses in the background, polls, cancels and resumes them',
    async () => {
      const { outcome, tap } = await overTheWire(
        scene,
        { model: 'native', prompt: `@demo tokens=${OUTPUT_TOKENS} delay=40` },
        ({ origin, apiKey, model, prompt }) =>
          runPython(['background'], {
            ORIGIN: origin,
            API_KEY: apiKey,
            MODEL: model,
            PROMPT: prompt,
          }),
      );
      if (outcome.status === 'rejected') throw outcome.reason;
      const words = wordsUpTo(OUTPUT_TOKENS);
      expect(outcome.value).toMatchObject({
        polled: words,
        usage: { output: OUTPUT_TOKENS },
        cancelled: 'cancelled',
        resumed: words,
      });
      const begun = tap.inference.filter(({ path: to }) => to === '/v1/responses');
      const { outcomes } = await booked(scene, begun);
      expect(outcomes).toEqual([
        'completed, reported',
        'client_closed, estimated',
        'completed, reported',
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    'google-genai gets a vector of each text, and they are booked',
    async () => {
      const { outcome, tap } = await overTheWire(
        scene,
        { model: 'vectors', prompt: 'a text' },
        ({ origin, apiKey, model, prompt }) =>
          runPython(['embed'], {
            ORIGIN: origin,
            API_KEY: apiKey,
            MODEL: model,
            PROMPT: prompt,
          }),
      );
      if (outcome.status === 'rejected') throw outcome.reason;
      const { lengths } = z.object({ lengths: z.array(z.number().min(1)) }).parse(outcome.value);
      expect(lengths).toHaveLength(2);
      const { outcomes, input } = await booked(scene, tap.inference);
      expect([outcomes, input > 0]).toEqual([['completed, reported'], true]);
    },
    TIMEOUT_MS,
  );

  test.each<[string, (each: ErrorCase) => Raised, 'exception' | 'litellm']>([
    ['openai', ({ openai }) => openai, 'exception'],
    ['anthropic', ({ anthropic }) => anthropic, 'exception'],
    ['litellm (openai)', ({ openai }) => openai, 'litellm'],
    ['litellm (anthropic)', ({ anthropic }) => anthropic, 'litellm'],
  ])(
    '%s raises the typed exception of each error',
    async (name, of, property) => {
      const cases = await errorCases(scene);
      const asked = cases.map(({ apiKey, model, prompt, more = {} }) => ({
        api_key: apiKey,
        model,
        prompt,
        more,
      }));
      const found = raised.parse(
        await runPython(['fail', name], {
          ORIGIN: scene.tollgate.nodeUrls[0] ?? '',
          CASES: JSON.stringify(asked),
        }),
      );
      expect(cases.map((each, place) => [each.name, found[place]?.exception])).toEqual(
        cases.map((each) => [each.name, of(each)[property]]),
      );
    },
    TIMEOUT_MS,
  );
});
