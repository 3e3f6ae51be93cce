import { describe, expect, test } from '@jest/globals';
import { redact } from './redact.ts';
import { readUpstreamError } from './upstream-error.ts';

describe('redaction', () => {
  test('S14: an upstream error that echoes our key shows none of it', () => {
    const echoes = [
      'Incorrect API key provided: sk-proj-abcDEF0123456789.',
      'Authorization: Bearer abc.def.ghi is invalid',
      'key eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc',
      'Your api key: ****-key is invalid',
      'token 0123456789abcdef0123456789abcdef',
      'AIzaSyD-0123456789 and AKIAABCDEFGHIJKLMNOP',
    ];
    for (const echo of echoes) expect(redact(echo)).toContain('[redacted]');
    expect(echoes.map((echo) => redact(echo)).join(' ')).not.toMatch(
      /sk-|abc\.def|eyJ|\*{3}|0123456789/,
    );
    const body = Buffer.from(
      JSON.stringify({ error: { message: 'bad header hunter2hunter2 given' } }),
    );
    expect(
      readUpstreamError({ status: 400, headers: {}, body, secrets: ['hunter2hunter2'] }).message,
    ).toBe('bad header [redacted] given');
  });

  test('leaves ordinary words alone', () => {
    const message =
      "Unsupported value: 'max_tokens' for claude-haiku-4-5-20251001; requested 1250025 tokens, see risk-management_notes.";
    expect(redact(message)).toBe(message);
  });

  test('the time for an error grows no faster than its length, up to 100 kB (S35)', () => {
    for (const piece of ['sk-', '*', 'a', 'Bearer ', 'eyJ.', 'prompt is too long ']) {
      const [half = [], whole = []] = [50_000, 100_000].map((bytes) =>
        Array.from({ length: 5 }, () => costMs(piece.repeat(bytes / piece.length))),
      );
      // A linear pattern doubles its time, a quadratic one takes four times as long.
      expect(Math.min(...whole)).toBeLessThan(3 * Math.min(...half) + 1);
    }
  });
});

/** Returns the time that reading an error of this message takes, in milliseconds. */
function costMs(message: string): number {
  const body = Buffer.from(JSON.stringify({ error: { message } }));
  const started = performance.now();
  readUpstreamError({ status: 400, headers: {}, body });
  return performance.now() - started;
}
