/** @jest-environment node */
import { expect, jest, test } from '@jest/globals';

const PLANTED = {
  name: 'video_output',
  key: 'videoOutput',
  unit: 'token',
  side: 'output',
  isCharged: true,
  parent: 'output',
  isOptional: true,
};
const USED = new Map<string, number>(Object.entries({ input: 10, output: 4, video_output: 3 }));
const TABLE = '../../../../libs/contracts/src/usage/token-classes.ts';
const { TOKEN_CLASSES } = await import('@tollgate/contracts');
jest.resetModules();
jest.unstable_mockModule(TABLE, () => ({ TOKEN_CLASSES: [...TOKEN_CLASSES, PLANTED] }));
const { tokenFieldsOf, usageFinalSchema, usageOf } = await import('@tollgate/contracts');
const { chargeOf, planHold } = await import('@tollgate/metering');
const { priceVersionSchema } = await import('@tollgate/snapshot');
const { Gate } = await import('../pipeline/request/gate.ts');
const { Metrics } = await import('../operations/metrics.ts');
const { admittedLine, countsLine, finalLine } = await import('../journal/journal-line.ts');
const { emptyReplay, replayText } = await import('../journal/journal-replay.ts');
const { lostFinal } = await import('../journal/lost-final.ts');

test('a class planted in the table is held for, charged, journalled, settled and shown in the metrics', async () => {
  const usage = usageOf(({ name }) => USED.get(name) ?? 0);
  const planted: object = { weight_video_output: 5_000_000 };
  const price = priceVersionSchema.parse({
    id: 1,
    effective_at: 0,
    weight_input: 1_000_000,
    weight_output: 2_000_000,
    weight_cache_read: 0,
    weight_cache_write: 0,
    ...planted,
  });
  expect(chargeOf(usage, price)).toBe(10 + 4 * 2 + 3 * 5);
  const ask = {
    isStream: false,
    outputLimit: 100,
    choices: 1,
    prompt: {
      textBytes: 0,
      messageCount: 0,
      images: [],
      ownTools: 0,
      vendorTools: [],
      unboundedInputs: 0,
      serverToolUses: 0,
      otherBytes: 0,
      predictedBytes: 0,
    },
  };
  const model = {
    kind: 'chat' as const,
    context_window: null,
    max_output_tokens: null,
    unbounded_input_tokens: null,
  };
  const { boundTokens, bounds } = planHold({ ask, model, price, upstreamModels: ['gpt-4'] });
  expect(boundTokens).toBe(bounds.promptTokens + 100 * 5);

  const hold = {
    rid: '0198f3a4-0000-7000-8000-000000000001',
    accountId: 1,
    keyHash: 'a'.repeat(64),
    keyId: 1,
    modelId: 1,
    subscriptionId: 1,
    generation: 1,
    epoch: 'e',
    price,
    grantedTokens: 500,
    sliceTokens: 0,
    boundTokens: 500,
    isStream: true,
    startedAtMs: 1_000,
    protocol: 'chat' as const,
  };
  const replay = emptyReplay();
  const counts = Object.fromEntries(USED);
  replayText(replay, admittedLine(hold) + countsLine(hold.startedAtMs, { [hold.rid]: counts }));
  const [lost] = replay.lost.values();
  if (!lost) throw new Error('nothing was replayed');
  const final = usageFinalSchema.parse(lostFinal(lost, 'node-1:0'));
  expect(final).toMatchObject({ ...tokenFieldsOf(usage), video_output_tokens: 3, charge: 33 });
  replayText(
    replay,
    finalLine({ atMs: 1, rid: hold.rid, epoch: 'e', payload: JSON.stringify(final) }),
  );
  expect(replay.finals.get(hold.rid)?.final).toEqual(final);

  const metrics = new Metrics({
    credential: 'c',
    worker: 0,
    modelsMax: 100,
    readings: {
      gate: new Gate(() => null),
      isReady: () => true,
      background: () => 0,
      keptBytes: () => 0,
      recorder: () => ({ unacknowledged: 0, journalsSetAside: 0 }),
      failOpen: () => ({ admissions: 0, tokens: 0 }),
      snapshotVersion: () => 1,
      upstreams: () => [],
    },
  });
  metrics.ended(hold.rid, final, { model: 'm' });
  const text = await metrics.text();
  expect(text).toMatch(/tollgate_tokens_total\{[^}]*class="video_output"[^}]*\} 3/);
  expect(text).toMatch(/gen_ai_client_token_usage_sum\{[^}]*gen_ai_token_type="output"[^}]*\} 7/);
});
