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

  test('S35: 100 kB of anything is looked at in well under 50 ms', () => {
    for (const piece of ['sk-', '*', 'a', 'Bearer ', 'eyJ.', 'prompt is too long ']) {
      const body = Buffer.from(
        JSON.stringify({ error: { message: piece.repeat(100_000 / piece.length) } }),
      );
      // The best of five: what else the machine does is not looked at.
      const costs = Array.from({ length: 5 }, () => {
        const started = performance.now();
        readUpstreamError({ status: 400, headers: {}, body });
        return performance.now() - started;
      });
      expect(Math.min(...costs)).toBeLessThan(50);
    }
  });
});
