import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SSE_EVENT_BYTES_MAX, SseFramer } from './sse-framer.ts';
import type { SseEvent } from './sse-framer.ts';

function frame(bytes: Buffer, cuts: readonly number[]): SseEvent[] {
  const framer = new SseFramer();
  const events: SseEvent[] = [];
  let at = 0;
  for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
    events.push(...framer.push(bytes.subarray(at, cut)));
    at = Math.max(at, cut);
  }
  const last = framer.end();
  return last ? [...events, last] : events;
}

const seen = (events: readonly SseEvent[]): unknown[] =>
  events.map(({ name, data, raw }) => [name, data?.toString('utf8') ?? null, raw.toString('utf8')]);

describe('SseFramer', () => {
  test('tolerates CRLF, LF, comments, names, several data lines, padding and a missing last blank line', () => {
    const text =
      ': hi\n\nevent: a\r\ndata: {"x":\r\ndata: 1}\r\n\r\ndata:b  \nid: 7\n\n\ndata: [DONE]';
    expect(
      frame(Buffer.from(text), []).map(({ name, data }) => [name, data?.toString() ?? null]),
    ).toEqual([
      ['', null],
      ['a', '{"x":\n1}'],
      ['', 'b  '],
      ['', null],
      ['', '[DONE]'],
    ]);
  });

  test('gives the same events however the bytes are cut, also inside a character, and loses no byte', () => {
    const line = fc.constantFrom(
      'data: {"text":"é🌤"}',
      'data:',
      'event: x',
      ': comment',
      'id',
      '',
      '',
    );
    const feed = fc.constantFrom('\n', '\r\n');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(line, feed), { maxLength: 20 }),
        fc.array(fc.nat(400), { maxLength: 30 }),
        (lines, cuts) => {
          const bytes = Buffer.from(lines.flat().join(''));
          const whole = frame(bytes, []);
          expect(
            seen(
              frame(
                bytes,
                cuts.map((cut) => cut % (bytes.length + 1)),
              ),
            ),
          ).toEqual(seen(whole));
          expect(Buffer.concat(whole.map(({ raw }) => raw))).toEqual(bytes);
        },
      ),
    );
  });

  test('takes a line of 1 MB in small pieces, and stops at the limit', () => {
    const framer = new SseFramer();
    const piece = Buffer.alloc(16 * 1024, 'a');
    framer.push(Buffer.from('data: '));
    for (let sent = 0; sent < 1024 * 1024; sent += piece.length)
      expect(framer.push(piece)).toEqual([]);
    expect(framer.push(Buffer.from('\n\n'))[0]?.data?.length).toBe(1024 * 1024);
    for (let sent = 0; sent <= SSE_EVENT_BYTES_MAX && !framer.hasFailed; sent += piece.length)
      framer.push(piece);
    expect(framer.hasFailed).toBe(true);
  });
});
