import { expect, test } from '@jest/globals';
import { readEvents } from './sse.ts';

async function read(pieces: readonly Uint8Array[]): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const events: string[] = [];
  for await (const event of readEvents(body)) events.push(event);
  return events;
}

const TEXT =
  'event: x\ndata: {"a":"é漢"}\n\n: comment\n\ndata: one\r\ndata: two\r\n\r\ndata: [DONE]\n\n';

test('events are the same wherever the stream is cut, even inside a character', async () => {
  const bytes = new TextEncoder().encode(TEXT);
  for (let cut = 1; cut < bytes.length; cut += 1)
    expect(await read([bytes.slice(0, cut), bytes.slice(cut)])).toEqual([
      '{"a":"é漢"}',
      'one\ntwo',
      '[DONE]',
    ]);
});

test('an event that the stream breaks off in is still read', async () => {
  expect(await read([new TextEncoder().encode('data: last')])).toEqual(['last']);
});
