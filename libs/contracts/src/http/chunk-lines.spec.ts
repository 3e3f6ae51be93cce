import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { ChunkLines } from './chunk-lines.ts';

const size = (bytes: number): fc.Arbitrary<string> =>
  fc.tuple(fc.boolean(), fc.nat(4)).map(([isUpper, zeros]) => {
    const hex = bytes.toString(16);
    return '0'.repeat(zeros) + (isUpper ? hex.toUpperCase() : hex);
  });
/** Makes data that looks like framing, extensions included: it must be skipped by its length alone. */
const data = fc.string({
  unit: fc.constantFrom('\r', '\n', '\r\n', ';', '0', 'a', 'F', 'x', '3;q\r\n', '0\r\n\r\n'),
  minLength: 1,
  maxLength: 40,
});
const extension = fc.constantFrom(';', ';a', ';a=b', ';a="b;c"', '; a');

/** Makes the pieces of a chunked body: size, what follows it on its line, data. */
const chunks = fc.array(
  data.chain((text) => size(text.length).map((hex) => ({ hex, text }))),
  { maxLength: 6 },
);
const last = fc.nat(4).map((zeros) => '0'.repeat(zeros + 1));
const trailer = fc.constantFrom('', 'x-note: a;b\r\n');
const cuts = fc.array(fc.nat(400), { maxLength: 12 });

function readsOf(text: string, at: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text, 'latin1');
  const edges = [
    0,
    ...at.filter((each) => each < bytes.length).sort((a, b) => a - b),
    bytes.length,
  ];
  return edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
}

/** Returns the place in the whole body, over all reads, at which the first extension begins. */
function extensionIn(body: ChunkLines, reads: readonly Uint8Array[]): number {
  let before = 0;
  for (const read of reads) {
    const at = body.findExtension(read);
    if (at >= 0) return before + at;
    before += read.length;
  }
  return -1;
}

test('finds nothing in a chunked body without extensions, however it is split, and ends at its last chunk', () => {
  fc.assert(
    fc.property(chunks, last, trailer, cuts, (parts, zero, trailers, at) => {
      const text = `${parts.map(({ hex, text: each }) => `${hex}\r\n${each}\r\n`).join('')}${zero}\r\n`;
      const body = new ChunkLines();
      expect(extensionIn(body, readsOf(`${text}${trailers}\r\nPOST / HTTP/1.1\r\n3;`, at))).toBe(
        -1,
      );
      expect(body.isOver).toBe(true);
      const withoutLast = new ChunkLines();
      extensionIn(withoutLast, readsOf(text.slice(0, -1), at));
      expect(withoutLast.isOver).toBe(false);
    }),
  );
});

test('finds the first extension of any chunk, the last one included, however the body is split', () => {
  fc.assert(
    fc.property(chunks, last, extension, fc.nat(6), cuts, (parts, zero, added, which, at) => {
      const lines = [...parts, { hex: zero, text: '' }];
      const extended = which % lines.length;
      let text = '';
      let expected = -1;
      for (const [index, { hex, text: each }] of lines.entries()) {
        text += hex;
        if (index === extended) expected = text.length;
        text += `${index === extended ? added : ''}\r\n${each}\r\n`;
      }
      expect(extensionIn(new ChunkLines(), readsOf(text, at))).toBe(expected);
    }),
  );
});

test('what is not a chunked body is given up', () => {
  for (const text of [
    'POST / HTTP/1.1\r\n',
    ';a\r\n',
    '\r\n',
    '3 ;a\r\nabc',
    '3\nabc',
    '3\r\nabcd;',
  ]) {
    const body = new ChunkLines();
    expect(body.findExtension(Buffer.from(text))).toBe(-1);
    expect(body.isOver).toBe(true);
  }
});
