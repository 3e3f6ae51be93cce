import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { NO_USAGE, promptTokensOf, tokenFields, usageOfFinal } from '@tollgate/contracts';
import { chargeOf, PROMPT_BOUNDS, planHold, TOOL_BOUNDS, UNKNOWN_BOUND } from '@tollgate/metering';
import { parseAsk, type Ask, type ClientProtocol } from '@tollgate/protocols';
import fc from 'fast-check';
import { Tally } from './answers/tally.ts';

const PRICE = {
  weight_input: 1_000_000,
  weight_output: 1_000_000,
  weight_cache_read: 1_000_000,
  weight_cache_write: 1_000_000,
};
const MODEL = {
  kind: 'chat' as const,
  context_window: 200_000,
  max_output_tokens: null,
  unbounded_input_tokens: null,
};

const askOf = (protocol: ClientProtocol, body: object): Ask =>
  parseAsk(protocol, Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, ...body })));

const planOf = (ask: Ask, upstreamModel: string) =>
  planHold({ ask, model: MODEL, price: PRICE, upstreamModels: [upstreamModel] });

/** Returns the charge of a request whose upstream reports so much. */
async function charged(ask: Ask, upstreamModel: string, reported: object) {
  const plan = planOf(ask, upstreamModel);
  const tally = new Tally({ prompt: ask.prompt, plan });
  const usage = { ...NO_USAGE, output: 1, ...reported };
  return { plan, ...(await tally.atEnd({ usage, isFinal: true })) };
}

/** Returns the start of a PNG, which says its size. */
function png(width: number, height: number): string {
  const head = Buffer.alloc(33);
  head.writeUInt32BE(0x89504e47, 0);
  head.writeUInt32BE(0x0d0a1a0a, 4);
  head.writeUInt32BE(13, 8);
  head.write('IHDR', 12, 'latin1');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head.toString('base64');
}

const said = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const chatImage = (width: number, height: number, detail?: string) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${png(width, height)}`, ...(detail && { detail }) },
});
const claudeImage = (width: number, height: number) => ({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: png(width, height) },
});
const hi = { type: 'text', text: 'What is this?' };
const tools = (...types: string[]) => ({
  tools: types.map((type) => ({ type, name: type.split('_')[0] })),
  ...said('hi'),
});

const value: fc.Arbitrary<unknown> = fc.oneof(fc.string(), fc.jsonValue());
const part = fc.oneof(
  fc.string().map((text) => ({ type: 'text', text })),
  fc
    .tuple(fc.integer({ min: 1, max: 9_000 }), fc.integer({ min: 1, max: 9_000 }))
    .map(([width, height]) => chatImage(width, height)),
  fc.constantFrom('low', 'high', 'auto').map((detail) => ({
    type: 'image_url',
    image_url: { url: 'https://x/y.png', detail },
  })),
  fc.constant({ type: 'file', file: { file_id: 'f' } }),
);
const body = fc.record({
  messages: fc.array(
    fc.record({ role: fc.constant('user'), content: fc.oneof(fc.string(), fc.array(part)) }),
    { minLength: 1, maxLength: 4 },
  ),
  tools: fc.array(
    fc.record({
      type: fc.constantFrom('function', 'memory_20250818', 'bash_20250124', 'web_search_20250305'),
      function: fc.record({ name: fc.string(), parameters: value }),
    }),
    { maxLength: 3 },
  ),
});

describe('the prompt that is charged', () => {
  test('is the smaller of the report and its bound, for any body and report, and the hold covers it', async () => {
    await fc.assert(
      fc.asyncProperty(
        body,
        fc.constantFrom('gpt-4o-mini', 'claude-opus-4-8', 'grok-4', 'prod-1'),
        fc.record(tokenFields(fc.oneof(fc.nat(3_000), fc.nat(3_000_000)))).map(usageOfFinal),
        async (asked, model, report) => {
          const ask = askOf('chat', asked);
          const { plan, usage, excessTokens, doubt } = await charged(ask, model, {
            ...report,
            output: 1,
            reasoning: 0,
            audioOutput: 0,
            imageOutput: 0,
          });
          const bound = plan.bounds.promptTokens;
          const reported = promptTokensOf(report);
          expect(promptTokensOf(usage)).toBe(Math.min(reported, bound));
          expect(excessTokens).toBe(Math.max(0, reported - bound));
          if (reported > bound) expect(doubt).toBe('prompt_beyond_bound');
          expect(chargeOf(usage, PRICE)).toBeLessThanOrEqual(plan.boundTokens);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each<[string, string, ClientProtocol, object, number]>([
    ['a small image', 'gpt-4o-mini', 'chat', said([hi, chatImage(320, 200)]), 8_521],
    ['high detail', 'gpt-4o-mini', 'chat', said([hi, chatImage(1_024, 1_024, 'high')]), 25_513],
    [
      '20 large images',
      'claude-opus-4-7',
      'messages',
      said([hi, ...Array.from({ length: 20 }, () => claudeImage(4_000, 3_000))]),
      95_692,
    ],
    ['the memory tool', 'claude-haiku-4-5', 'messages', tools('memory_20250818'), 1_577],
    [
      'tool search',
      'claude-haiku-4-5',
      'messages',
      tools('tool_search_tool_regex_20251119'),
      1_595,
    ],
    [
      'computer, bash and editor',
      'claude-sonnet-4-6',
      'messages',
      {
        ...said('hi'),
        tools: [
          {
            type: 'computer_20250124',
            name: 'computer',
            display_width_px: 1,
            display_height_px: 1,
          },
          { type: 'bash_20250124', name: 'bash' },
          { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
        ],
      },
      2_300,
    ],
  ])('is what a provider bills for %s, of %s', async (_, model, protocol, asked, input) => {
    const ask = askOf(protocol, asked);
    expect(await charged(ask, model, { input })).toMatchObject({
      usage: { input },
      basis: 'reported',
      doubt: null,
    });
    // The same content is charged alike under a name that says nothing.
    expect((await charged(ask, 'prod-1', { input })).usage.input).toBe(input);
  });

  test('without a report is the estimate, and never the bound', async () => {
    const ask = askOf('chat', said([hi, chatImage(4_000, 4_000)]));
    const plan = planOf(ask, 'gpt-4o-mini');
    const tally = new Tally({ prompt: ask.prompt, plan });
    tally.output('a cat');
    const { usage, basis } = await tally.atEnd({ usage: null, isFinal: false });
    expect(basis).toBe('estimated');
    expect(usage.input).toBeLessThan(150);
    expect(plan.bounds.promptTokens).toBeGreaterThan(25_000);
  });

  test('has a bound in plain tokens, which neither multipliers nor the output of a hold enlarge', () => {
    const ask = askOf('chat', said('hi'));
    const plain = planOf(ask, 'gpt-4o').bounds.promptTokens;
    const dear = planHold({
      ask,
      model: MODEL,
      upstreamModels: ['gpt-4o'],
      price: { ...PRICE, weight_input: 6_000_000, weight_output: 90_000_000 },
      overrun: { factor: 50, tokens: 9_000 },
    });
    expect(dear.bounds.promptTokens).toBe(plain);
    expect(dear.boundTokens).toBeGreaterThan(6 * plain);
  });
});

describe('the tables of bounds', () => {
  const sized = { width: 1_000, height: 700 };

  test('say where each figure is from, and when it was read', () => {
    for (const { source, asOf } of [...PROMPT_BOUNDS, ...TOOL_BOUNDS]) {
      expect(source).not.toBe('');
      expect(asOf).toMatch(/^\d{4}-\d{2}$/);
    }
  });

  test('have the unknown family count at least what each known one does', () => {
    for (const { images, template, toolPrompt } of PROMPT_BOUNDS) {
      expect(UNKNOWN_BOUND.template).toBeGreaterThanOrEqual(template);
      expect(UNKNOWN_BOUND.toolPrompt).toBeGreaterThanOrEqual(toolPrompt);
      expect(UNKNOWN_BOUND.images.of(sized, null)).toBeGreaterThanOrEqual(images.of(sized, null));
    }
  });

  test('have an image of unknown size count as the largest of its family', () => {
    const side = fc.integer({ min: 1, max: 20_000 });
    fc.assert(
      fc.property(
        fc.constantFrom(...PROMPT_BOUNDS),
        fc.record({ width: side, height: side }),
        fc.constantFrom('low' as const, 'high' as const, null),
        ({ images }, size, detail) => {
          expect(images.of(size, detail)).toBeLessThanOrEqual(images.largest);
        },
      ),
    );
  });
});

/** Kept beside the repository, or where TOLLGATE_FIXTURES says; never copied into it. */
const RECORDINGS =
  process.env['TOLLGATE_FIXTURES'] ??
  path.resolve(import.meta.dirname, '../../../../../shared/fixtures');

interface RecordedPrompt {
  file: string;
  ask: Ask;
  bound: number;
  reported: number;
}

function recordedPrompts(): RecordedPrompt[] {
  const index = readFileSync(path.join(RECORDINGS, 'index.tsv'), 'utf8').trimEnd().split('\n');
  const [names = [], ...rows] = index.map((line) => line.split('\t'));
  const cells = rows.map((row) => (name: string) => row[names.indexOf(name)] ?? '');
  return cells
    .filter((cell) => cell('request_file') !== '' && cell('has_usage') === '1')
    .filter((cell) => ['chat', 'messages', 'embeddings'].includes(cell('protocol')))
    .filter((cell) => cell('usage_json').includes('_tokens'))
    .map((cell) => {
      const protocol = cell('protocol') as ClientProtocol;
      const file = cell('request_file');
      const ask = parseAsk(protocol, readFileSync(path.join(RECORDINGS, file)));
      const usage = cell('usage_json').replace(/^"|"$/g, '').replaceAll('""', '"');
      const bound = planOf(ask, cell('model')).bounds.promptTokens;
      return { file, ask, bound, reported: reportedOf(JSON.parse(usage)) };
    });
}

function reportedOf(usage: Readonly<Record<string, number | undefined>>): number {
  return [
    'prompt_tokens',
    'input_tokens',
    'cache_read_input_tokens',
    'cache_creation_input_tokens',
  ].reduce((sum, name) => sum + (usage[name] ?? 0), 0);
}

const describeRecorded = existsSync(path.join(RECORDINGS, 'index.tsv'))
  ? describe
  : (name: string) =>
      describe(name, () => {
        test.skip(`skipped: no recordings at ${RECORDINGS} (set TOLLGATE_FIXTURES)`, () =>
          undefined);
      });

describeRecorded('recorded prompts', () => {
  test('are each within their bound', () => {
    const prompts = recordedPrompts();
    expect(prompts.length).toBeGreaterThan(80);
    expect(prompts.filter(({ bound, reported }) => reported > bound)).toEqual([]);
  });

  test('are bounded at no more than six times their size, by the median, so that holds stay small', () => {
    const ratios = recordedPrompts()
      .filter(({ ask }) => ask.prompt.unboundedInputs + ask.prompt.serverToolUses === 0)
      .map(({ bound, reported }) => bound / reported)
      .toSorted((one, other) => one - other);
    expect(ratios[Math.floor(ratios.length / 2)]).toBeLessThan(6);
  });
});
