import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { chargeOfFinal } from '@tollgate/metering';
import type { SnapshotModel } from '@tollgate/snapshot';
import {
  chunk,
  event,
  messageStart,
  messageText,
  named,
  sse,
  START,
} from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

const WEIGHT = 1_000_000;
const WEIGHTS = {
  weight_input: WEIGHT,
  weight_output: WEIGHT,
  weight_cache_read: WEIGHT,
  weight_cache_write: WEIGHT,
};
const multipliers = { 'service_tier=priority': 1_750_000, 'speed=fast': 6 * WEIGHT };
const PROMPT = 10;
const OUTPUT = 5;
const USAGE = { prompt_tokens: PROMPT, completion_tokens: OUTPUT };
const FIELDS = { service_tier: 'priority', speed: 'fast' };
const MESSAGES = [{ role: 'user', content: 'hi' }];

let node: NodeUnderTest;
let model: SnapshotModel;
let anthropic: SnapshotModel;
/** Is the upstream's report of the tier at which it answered. */
let answered: object = {};
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest();
  const json = await upstreamOf((response, body) =>
    body.includes('"stream":true')
      ? sse(response).end(
          START +
            chunk({ content: 'ok' }, 'stop') +
            event({ id: 'c1', choices: [], usage: USAGE, ...answered }) +
            event('[DONE]'),
        )
      : response.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            choices: [
              { index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' },
            ],
            usage: USAGE,
            ...answered,
          }),
        ),
  );
  const messages = await upstreamOf((response) =>
    sse(response).end(
      messageStart(PROMPT) +
        named({
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'text', text: '' },
        }) +
        messageText('ok') +
        named({ type: 'content_block_stop', index: 0 }) +
        named({
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: OUTPUT, ...answered },
        }) +
        named({ type: 'message_stop' }),
    ),
  );
  const prices = [{ id: 900, effective_at: 0, ...WEIGHTS, multipliers }];
  model = await node.addModel([{ baseUrl: json.baseUrl }], { prices });
  anthropic = await node.addModel([{ baseUrl: messages.baseUrl, protocol: 'anthropic' }], {
    prices,
  });
});
afterAll(async () => {
  await node.stop();
  await closeUpstreams();
});

/** Returns the price paid for each token, and the premiums of the final. */
async function paid(of: SnapshotModel, fields: object, path = '/v1/chat/completions') {
  const before = await node.settledBalance(of);
  const response = await node.post(path, {
    model: of.name,
    max_tokens: 50,
    messages: MESSAGES,
    ...fields,
  });
  await response.text();
  const charge = before - (await node.settledBalance(of));
  const final = Object(await node.journalledFinal(response.headers.get('x-request-id')));
  // The control plane and the audit compute it in this way.
  expect([final.charge, chargeOfFinal(final, { ...WEIGHTS, multipliers })]).toEqual([
    charge,
    charge,
  ]);
  return [charge, final.premiums];
}

const atTimes = (factor: number): number => Math.ceil((PROMPT + OUTPUT) * factor);

test.each([false, true])(
  'a dearer service is charged at the tier that was answered, not at the one that was asked for, a stream: %s',
  async (stream) => {
    const both = ['service_tier=priority', 'speed=fast'];
    for (const [tier, factor, premiums] of [
      [{ service_tier: 'default' }, 6, ['speed=fast']],
      [{ service_tier: 'flex' }, 6, ['speed=fast']],
      [{ service_tier: 'default', speed: 'standard' }, 1, undefined],
      [{ service_tier: 'priority' }, 10.5, both],
      [{ service_tier: 'unknown' }, 10.5, both],
      [{ service_tier: 5 }, 10.5, both],
      [{}, 10.5, both],
    ] as const) {
      answered = tier;
      expect([tier, ...(await paid(model, { ...FIELDS, stream }))]).toEqual([
        tier,
        atTimes(factor),
        premiums,
      ]);
    }
  },
);

test('messages name the tier and the speed in their usage', async () => {
  const fields = { ...FIELDS, stream: true };
  answered = { service_tier: 'standard', speed: 'fast' };
  expect(await paid(anthropic, fields, '/v1/messages')).toEqual([atTimes(6), ['speed=fast']]);
  answered = { service_tier: 'priority', speed: 'standard' };
  expect(await paid(anthropic, fields, '/v1/messages')).toEqual([
    atTimes(1.75),
    ['service_tier=priority'],
  ]);
});
