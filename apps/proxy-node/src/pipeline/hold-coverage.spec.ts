import { describe, expect, test } from '@jest/globals';
import { planHold } from '@tollgate/metering';
import {
  canExchange,
  createExchange,
  findUnsupported,
  InvalidRequest,
  parseAsk,
  type Ask,
  type ClientProtocol,
  type Speech,
  type StoredIds,
} from '@tollgate/protocols';
import fc from 'fast-check';
import { find, isMembers, parseMembers, READERS, readGreedily } from '../testing/greedy-reader.ts';

/** Long runs by hand set SEED and RUNS in the environment. */
const SEED = process.env['SEED'];
const RUNS = Number(process.env['RUNS'] ?? 3_000);

const HELLO = '[{"role":"user","content":"hi"}]';
const BASES: Record<
  Exclude<ClientProtocol, 'embeddings' | 'generate' | 'embed'>,
  readonly string[]
> = {
  chat: ['"model":"m"', `"messages":${HELLO}`],
  messages: ['"model":"m"', '"max_tokens":100', `"messages":${HELLO}`],
  responses: ['"model":"m"', '"input":"hi"'],
  completions: ['"model":"m"', '"prompt":"hi"'],
};
/** Lists every name that some server reads as a limit, a count, a budget, or an object that holds one. */
const NAMES = [
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens', 'maxTokens'],
  ...[
    'max_new_tokens',
    'max_tokens_to_sample',
    'n_predict',
    'num_predict',
    'n',
    'best_of',
    'n_cmpl',
  ],
  ...[
    'candidate_count',
    'candidateCount',
    'thinking_budget',
    'thinking_token_budget',
    'budget_tokens',
  ],
  ...['thinking', 'reasoning', 'options', 'parameters', 'generationConfig', 'generation_config'],
  ...['inferenceConfig', 'extra_body', 'extra_params', 'model_kwargs', 'google', 'thinking_config'],
  ...['stream', 'stream_options', 'include_usage', 'model', 'messages', 'input', 'metadata', 'x'],
];

const spelled = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.constantFrom('as is', 'as is', 'as is', 'upper', 'first', 'kelvin', 'long s', 'escaped'),
  )
  .map(([name, how]) => {
    if (how === 'upper') return JSON.stringify(name.toUpperCase());
    if (how === 'first') return JSON.stringify(name.charAt(0).toUpperCase() + name.slice(1));
    if (how === 'kelvin') return JSON.stringify(name.replace('k', '\u212a'));
    if (how === 'long s') return JSON.stringify(name.replace('s', '\u017f'));
    if (how !== 'escaped') return JSON.stringify(name);
    return `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}"`;
  });
const amount = fc.constantFrom(
  '1',
  '2',
  '3',
  '200',
  '4096',
  '1000000',
  '1e3',
  '5.0',
  '9007199254740993',
  '0',
  '-1',
  '-0',
  '0.5',
  '1e400',
  '"9999"',
  'null',
  'true',
  '[]',
);
const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, amount, tie('object')),
  object: fc
    .array(fc.tuple(spelled, tie('value')), { maxLength: 3 })
    .map((members) => `{${members.map(([name, inner]) => `${name}:${inner}`).join(',')}}`),
}));

/** Objects that hold limits, with a member that may be one: chance alone rarely makes them. */
const holder = fc
  .tuple(
    fc.constantFrom(
      'thinking',
      'reasoning',
      'extra_body',
      'extra_params',
      'options',
      'generationConfig',
    ),
    fc.oneof(
      spelled,
      fc.constantFrom('"budget_tokens"', '"max_tokens"', '"max_completion_tokens"', '"n"'),
    ),
    amount,
  )
  .map(([name, inner, count]) => [JSON.stringify(name), `{${inner}:${count}}`] as const);

const request = fc
  .tuple(
    fc.constantFrom<keyof typeof BASES>('chat', 'messages', 'responses', 'completions'),
    fc.array(fc.oneof(fc.tuple(spelled, value), holder), { maxLength: 5 }),
    fc.boolean(),
  )
  .map(([protocol, extra, isFirst]) => {
    const more = extra.map(([name, inner]) => `${name}:${inner}`);
    const members = isFirst ? [...more, ...BASES[protocol]] : [...BASES[protocol], ...more];
    return { protocol, body: `{${members.join(',')}}` };
  });

const MODEL = {
  kind: 'chat' as const,
  context_window: 1_000,
  max_output_tokens: null,
  unbounded_input_tokens: null,
};
const PRICE = {
  weight_input: 0,
  weight_output: 1_000_000,
  weight_cache_read: 0,
  weight_cache_write: 0,
};

/** An `openai` upstream with endpoints of its own answers differently from one of these. */
const SPEECHES: readonly { speech: Speech; readers: keyof typeof READERS }[] = [
  { speech: { protocol: 'openai' }, readers: 'openai' },
  { speech: { protocol: 'anthropic' }, readers: 'anthropic' },
  { speech: { protocol: 'openai', endpoints: ['responses'] }, readers: 'responses' },
  { speech: { protocol: 'openai', endpoints: ['completions'] }, readers: 'openai' },
];
const PLAIN_IDS: StoredIds = { seal: (id) => id, open: (id) => id, isSealed: () => false };

function admitted(protocol: ClientProtocol, body: string): Ask | null {
  try {
    return parseAsk(protocol, Buffer.from(body));
  } catch (error) {
    if (error instanceof InvalidRequest) return null;
    throw error;
  }
}

describe('what an upstream may produce is covered by the hold (S26a)', () => {
  test('for every body that is admitted, however the upstream reads it', () => {
    let judged = 0;
    fc.assert(
      fc.property(
        request,
        fc.option(fc.integer({ min: 1, max: 5_000 })),
        ({ protocol, body }, grant) => {
          const ask = admitted(protocol, body);
          if (!ask) return;
          const plan = planHold({ ask, model: MODEL, price: PRICE, upstreamModels: [] });
          // Admission lowers the limit of a JSON request that cannot pay for all of it in the same way.
          const outputLimit = Math.min(plan.outputLimit, grant ?? Infinity);
          for (const { speech, readers } of SPEECHES) {
            if (readers === 'responses' && protocol !== 'responses') continue;
            if (!canExchange(protocol, speech)) continue;
            if (findUnsupported(ask, { speech, upstreamModel: 'real' })) continue;
            const { requestBody } = createExchange({
              ask,
              speech,
              ids: PLAIN_IDS,
              upstreamModel: 'real',
              outputLimit,
              outputLimitField: 'max_tokens',
              clientHeaders: {},
              idSeed: '0193478e-7c00-7000-8000-0123456789ab',
            });
            const sent = Buffer.from(requestBody).toString();
            const members = parseMembers(sent);
            if (!isMembers(members)) throw new Error('no object was sent');
            judged += 1;
            for (const style of READERS[readers]) {
              const { limit, choices } = readGreedily(members, style);
              expect({
                style: style.name,
                sent,
                isCovered: limit * choices <= outputLimit * ask.choices,
              }).toMatchObject({ isCovered: true });
              expect(find(members, ['model'], style)).toBe('real');
            }
          }
        },
      ),
      { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) },
    );
    // The property would hold of nothing if everything were refused.
    expect(judged).toBeGreaterThan(RUNS / 20);
  });
});
