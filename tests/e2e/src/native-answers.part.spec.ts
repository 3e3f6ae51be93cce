import { describe, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import {
  ask,
  baseUrl,
  BOUGHT,
  call,
  model,
  native,
  node,
  ofProvider,
  streamed,
  type Answered,
} from './native-responses-under-test.ts';

describe('an answer of an upstream that speaks /v1/responses', () => {
  test('whole: its own fields, with the caller name of the model and sealed ids; charged as reported', async () => {
    const own = await native();
    const { status, body, rid } = await ask({
      model: own.name,
      input: '@demo tokens=5 mode=thinking',
      metadata: { a: 'b' },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'response', status: 'completed', model: own.name });
    expect(body.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(body.output[1]?.content[0].text).toBe(wordsUpTo(5));
    for (const id of [body.id, ...body.output.map((item) => item.id)])
      expect(id).toMatch(/^(?:resp|rs|msg)_tg[\w-]{40,}$/);
    const { reported } = ofProvider(rid) ?? {};
    expect(body.usage).toMatchObject({
      input_tokens: reported?.prompt,
      output_tokens: reported?.output,
    });
    expect(await node.settledBalance(own)).toBe(
      BOUGHT - (reported?.prompt ?? 0) - (reported?.output ?? 0),
    );
    expect(await node.journalledFinal(rid)).toMatchObject({
      protocol: 'responses',
      basis: 'reported',
      outcome: 'completed',
      output_tokens: 5,
    });
  });

  test('as a stream: every event with its number, one id for each item, and the usage at the end', async () => {
    const { events, rid } = await streamed({ input: '@demo tokens=4 mode=tools' });
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
    expect(new Set(events.flatMap(({ response }) => response?.id ?? [])).size).toBe(1);
    const done = events.filter(({ type }) => type === 'response.output_item.done');
    const last = events.at(-1);
    expect(last).toMatchObject({
      type: 'response.completed',
      response: { model: model.name, usage: { output_tokens: 4 } },
    });
    expect(done.map(({ item }) => item.id)).toEqual(last?.response.output.map(({ id }) => id));
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas.map(({ delta }) => delta).join('')).toBe(wordsUpTo(4));
    expect(new Set(deltas.map(({ item_id: id }) => id))).toEqual(new Set([done[0]?.item.id]));
    expect(await node.journalledFinal(rid)).toMatchObject({ basis: 'reported', is_stream: true });
  });

  test('ends at the limit that was granted, which the upstream is sent', async () => {
    const { body } = await ask({ input: '@demo tokens=50', max_output_tokens: 20 });
    expect(body).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      max_output_tokens: 20,
    });
    const granted = await ask({ input: '@demo tokens=2' });
    expect(granted.body.max_output_tokens).toBe(4_096);
  });

  test('a stream that breaks ends as failed, and costs what was delivered', async () => {
    for (const mode of ['error-mid', 'dies', 'eof']) {
      const { events, rid } = await streamed({ input: `@demo tokens=40 delay=2 mode=${mode}` });
      expect(events.at(-1)).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { message: expect.any(String) } },
      });
      expect(await node.journalledFinal(rid)).toMatchObject({
        outcome: 'upstream_interrupted',
        basis: 'estimated',
      });
    }
  });

  test('an upstream that reports no usage is counted by the gateway', async () => {
    const { rid } = await streamed({ input: '@demo tokens=30 mode=no-usage' });
    const final = (await node.journalledFinal(rid)) as { output_tokens: number; basis: string };
    expect(final.basis).toBe('estimated');
    expect(final.output_tokens).toBeGreaterThan(0);
  });
});

test('a compaction is charged as a response, without a limit of its own', async () => {
  const own = await native({ max_output_tokens: 500 });
  const post = (fields: object): Promise<Answered> =>
    call('POST', '/v1/responses/compact', { body: { model: own.name, input: 'much', ...fields } });
  const { status, body, rid } = await post({});
  expect([status, body.object]).toEqual([200, 'response.compaction']);
  expect(body.output[0].id).toMatch(/^cmp_tg/);
  expect(await node.settledBalance(own)).toBe(
    BOUGHT - body.usage.input_tokens - body.usage.output_tokens,
  );
  expect(ofProvider(rid)?.emitted).toBe(body.usage.output_tokens);
  expect((await post({ stream: true })).body.error.param).toBe('stream');
  const translated = await node.addModel([{ baseUrl }], {}, BOUGHT);
  expect((await post({ model: translated.name })).body.error.code).toBe('unsupported_endpoint');
});

test('a compaction that the balance cannot pay to its end is not asked for', async () => {
  const poor = await node.addModel(
    [{ baseUrl, overrides: { endpoints: ['responses' as const] } }],
    { context_window: 10_000 },
    4_000,
  );
  const path = '/v1/responses/compact';
  const { status, body } = await call('POST', path, { body: { model: poor.name, input: 'much' } });
  expect([status, body.error.code]).toEqual([429, 'insufficient_quota']);
  expect(await node.settledBalance(poor)).toBe(4_000);
});
