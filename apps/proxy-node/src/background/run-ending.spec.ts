import { describe, expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import type { StoredResponse } from '@tollgate/protocols';
import type { BodyConsumer, UpstreamCall } from '../upstream/upstream-call.ts';
import { endingOfRun, type RunFacts } from './run-ending.ts';
import { RunEvidence } from './run-evidence.ts';

const LIMIT = 1_000;
const BOUNDS = {
  promptTokens: 100,
  contextTokens: null,
  readsMore: false,
  promptTextBytes: 20,
  outputTokens: LIMIT,
};

const response = (change: Partial<StoredResponse>): StoredResponse => ({
  status: 'cancelled',
  isOver: true,
  usage: null,
  outputText: '',
  calls: 0,
  callArguments: () => ({ texts: 0, numbers: 0, bytes: 0 }) as never,
  ...change,
});

async function ending(
  change: Partial<StoredResponse>,
  facts: Partial<RunFacts> & { shownTokens?: number } = {},
) {
  const { shownTokens = 0, ...others } = facts;
  const { outcome, counted } = await endingOfRun(
    { bounds: BOUNDS },
    {
      response: response(change),
      endedBy: null,
      isCancelled: true,
      handle: { counted: () => ({ ...NO_USAGE, input: 7, output: shownTokens }) },
      generatedTokens: 0,
      ...others,
    },
  );
  return { outcome, output: counted.usage.output, ...counted };
}

const reported = (output: number) => ({ ...NO_USAGE, input: 7, output });

describe('a run that is ended is charged', () => {
  test('what its provider reports, though more was probably generated in its time', async () => {
    expect(
      await ending({ usage: reported(40) }, { generatedTokens: 900, shownTokens: 30 }),
    ).toMatchObject({ output: 40, basis: 'reported' });
  });

  test('what was shown of it, where its provider reports far less', async () => {
    expect(await ending({ usage: reported(5) }, { shownTokens: 390 })).toMatchObject({
      output: 390,
      basis: 'estimated',
      doubt: 'output_below_text',
    });
  });

  test('the side that is reported, and what was counted of the other', async () => {
    const output = { ...NO_USAGE, output: 40, unreported: 'prompt' as const };
    expect(
      await ending({ usage: output }, { generatedTokens: 900, shownTokens: 30 }),
    ).toMatchObject({ output: 40, usage: { input: 7 }, basis: 'estimated' });
    const prompt = { ...NO_USAGE, input: 2, cacheRead: 50, unreported: 'output' as const };
    expect(
      await ending({ usage: prompt }, { generatedTokens: 500, shownTokens: 30 }),
    ).toMatchObject({ output: 500, usage: { input: 2, cacheRead: 50 }, basis: 'estimated' });
  });

  test('no more than twice its limit and 1,024 tokens of what was shown', async () => {
    expect(await ending({}, { shownTokens: 240_000 })).toMatchObject({ output: 2 * LIMIT + 1_024 });
    expect(
      await ending({ outputText: ' word'.repeat(9_000) }, { shownTokens: 9_000 }),
    ).toMatchObject({ output: 2 * LIMIT + 1_024, basis: 'estimated' });
  });

  test('the largest of what was shown and what its time says, where nothing is reported', async () => {
    expect(await ending({}, { generatedTokens: 200, shownTokens: 390 })).toMatchObject({
      output: 390,
    });
    expect(await ending({}, { generatedTokens: 500, shownTokens: 390 })).toMatchObject({
      output: 500,
      usage: { reasoning: 110, input: 7 },
    });
  });

  test('at most its limit by its time, and all that was shown beyond it', async () => {
    expect(await ending({}, { generatedTokens: 5_000 })).toMatchObject({ output: LIMIT });
    expect(await ending({}, { shownTokens: 1_200 })).toMatchObject({ output: 1_200 });
  });

  test('also where its provider has it no more', async () => {
    const gone = { response: null, generatedTokens: 500, shownTokens: 90 };
    expect(await ending({}, gone)).toMatchObject({ outcome: 'client_closed', output: 500 });
  });

  test('nothing by its time where its provider failed or lost it', async () => {
    expect(await ending({ status: 'failed' }, { generatedTokens: 500 })).toMatchObject({
      outcome: 'upstream_failed',
      output: 0,
    });
    const lost = { response: null, isCancelled: false, generatedTokens: 500, shownTokens: 90 };
    expect(await ending({}, lost)).toMatchObject({ outcome: 'upstream_interrupted', output: 90 });
  });
});

/** Makes an upstream's answer that is there in full. */
function answer(events: readonly object[], isWhole = true): UpstreamCall {
  const bytes = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  return {
    consume: ({ data, end, failed }: BodyConsumer) => {
      data(bytes.subarray(0, 9));
      data(bytes.subarray(9));
      if (isWhole) end();
      else failed(new Error('it broke') as never);
    },
  } as UpstreamCall;
}

const WORDS = { type: 'response.output_text.delta', delta: ' one two three' };
const REASONING = { type: 'response.output_item.added', item: { type: 'reasoning' } };

describe('the events that a provider keeps', () => {
  test.each([
    ['show all of a run that has text and no reasoning', [WORDS], true, true],
    ['do not show what was reasoned', [REASONING, WORDS], true, false],
    ['show nothing of a run without text', [], true, false],
    ['do not show all where they broke off', [WORDS], false, false],
  ])('%s', async (_, events, isWhole, isAllShown) => {
    const evidence = new RunEvidence({ startedAtMs: 0, bounds: BOUNDS });
    await evidence.readLog(answer(events, isWhole));
    expect(evidence.isAllShown).toBe(isAllShown);
    expect(evidence.shownTokens).toBe(events.includes(WORDS) ? 3 : 0);
  });
});

test('the time of a run is counted from the end of its queue to its first cancellation', () => {
  const evidence = new RunEvidence({ startedAtMs: 1_000, bounds: BOUNDS });
  evidence.look(response({ status: 'queued', isOver: false }), 5_000);
  evidence.look(response({ status: 'in_progress', isOver: false }), 6_000);
  expect(evidence.generatedMs(9_000)).toBe(4_000);
  evidence.hear({ shownTokens: 0, cancelledAtMs: 8_000 });
  evidence.look(response({}), 8_500);
  expect(evidence.generatedMs(9_000)).toBe(3_000);
});

test.each([
  [390, 390],
  [1e15, LIMIT],
  [Number.POSITIVE_INFINITY, LIMIT],
  [-5, 0],
  [7.9, 7],
])('news of %d shown tokens raise the charge to %d', (shownTokens, believed) => {
  const evidence = new RunEvidence({ startedAtMs: 0, bounds: BOUNDS });
  evidence.hear({ shownTokens, cancelledAtMs: null });
  expect(evidence.shownTokens).toBe(believed);
});
