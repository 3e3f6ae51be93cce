import { wordsUpTo } from '@tollgate/demo-upstream';
import { describe, expect, test } from '@jest/globals';
import type OpenAI from 'openai';
import { until } from '@tollgate/harness';
import { settledRows } from './books.ts';
import { native, openai, tollgate } from './official-sdks-under-test.ts';

describe('responses in the background', () => {
  async function begin(input: string): Promise<{ begun: OpenAI.Responses.Response; rid: string }> {
    const { data, request_id: rid } = await openai()
      .responses.create({ model: native.name, input, background: true })
      .withResponse();
    return { begun: data, rid: rid ?? '' };
  }

  const over = (id: string): Promise<OpenAI.Responses.Response> =>
    until(`${id} is over`, async () => {
      const response = await openai().responses.retrieve(id);
      return response.status !== 'queued' && response.status !== 'in_progress' && response;
    });

  test('are begun, polled by their id through any node, and charged what the provider reports', async () => {
    const { begun, rid } = await begin('@demo tokens=9 delay=40');
    expect(begun).toMatchObject({ status: 'queued', background: true, model: native.name });
    const ended = await over(begun.id);
    expect(ended).toMatchObject({ id: begun.id, status: 'completed', output_text: wordsUpTo(9) });
    const [row] = await settledRows(tollgate, rid);
    expect(row).toMatchObject({
      input_tokens: ended.usage?.input_tokens,
      output_tokens: 9,
      charge: ended.usage?.total_tokens,
      basis: 'reported',
      outcome: 'completed',
    });
  }, 30_000);

  test('are cancelled and deleted', async () => {
    const { begun, rid } = await begin('@demo tokens=500 delay=50');
    expect((await openai().responses.cancel(begun.id)).status).toBe('cancelled');
    expect((await over(begun.id)).status).toBe('cancelled');
    const [row] = await settledRows(tollgate, rid);
    expect(row).toMatchObject({ outcome: 'client_closed', basis: 'estimated' });
    await openai().responses.delete(begun.id);
    await expect(openai().responses.retrieve(begun.id)).rejects.toMatchObject({ status: 404 });
  }, 30_000);

  test('are streamed, left, and resumed after the last event that came', async () => {
    const stream = await openai().responses.create({
      model: native.name,
      input: '@demo tokens=12 delay=40',
      background: true,
      stream: true,
    });
    let id = '';
    let last = -1;
    let text = '';
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      last = event.sequence_number;
      if (event.type !== 'response.output_text.delta') continue;
      text += event.delta;
      break;
    }
    const rest = await openai('second node').responses.retrieve(id, {
      stream: true,
      starting_after: last,
    });
    for await (const event of rest)
      if (event.type === 'response.output_text.delta') text += event.delta;
    expect(text).toBe(wordsUpTo(12));
  }, 30_000);
});
