import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CommandWriter } from './command-writer.ts';

/** Writes a command as RESP2 says it, without regard to what it costs. */
function asText(parts: readonly (string | number)[]): string {
  const each = parts.map((part) => `$${Buffer.byteLength(String(part))}\r\n${part}\r\n`);
  return `*${parts.length}\r\n${each.join('')}`;
}

const part = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.integer(),
  // The text is longer than what is left of a block.
  fc.integer({ min: 30_000, max: 70_000 }).map((length) => 'ü'.repeat(length)),
);
const command = fc.tuple(
  fc.array(part, { minLength: 1, maxLength: 3 }),
  fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 12 }),
  fc.array(part, { maxLength: 12 }),
);

test('commands of any size are the bytes that RESP2 asks for, and stay so while others are written', () => {
  fc.assert(
    fc.property(fc.array(fc.array(command, { maxLength: 4 }), { maxLength: 6 }), (turns) => {
      const writer = new CommandWriter();
      const taken = turns.map((commands) => {
        for (const [head, keys, args] of commands) writer.add(head, keys, args);
        const bytes = writer.take();
        return { bytes, expected: commands.map((parts) => asText(parts.flat())).join('') };
      });
      for (const { bytes, expected } of taken) expect(bytes.toString()).toBe(expected);
    }),
    { numRuns: 60 },
  );
});

test('what was taken is not written again', () => {
  const writer = new CommandWriter();
  expect(writer.isEmpty).toBe(true);
  writer.add(['PING']);
  expect(writer.isEmpty).toBe(false);
  expect(writer.take().toString()).toBe('*1\r\n$4\r\nPING\r\n');
  expect(writer.isEmpty).toBe(true);
  expect(writer.take()).toHaveLength(0);
});

test('a command that cannot be written leaves no part of itself among the others', () => {
  const writer = new CommandWriter();
  writer.add(['PING']);
  expect(() => writer.add(['FCALL', 'settle', 1], ['key'], [1, undefined as never])).toThrow(
    TypeError,
  );
  // Grows the block in the middle of the command.
  expect(() => writer.add(['SET'], ['ü'.repeat(70_000)], [undefined as never])).toThrow(TypeError);
  writer.add(['TIME']);
  expect(writer.take().toString()).toBe('*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nTIME\r\n');
});
