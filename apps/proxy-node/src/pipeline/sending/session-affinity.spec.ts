import { describe, expect, test } from '@jest/globals';
import { rankFor, sessionOf } from './session-affinity.ts';

function session(
  body: Record<string, unknown>,
  { headers = {}, accountId = 1, modelId = 1 } = {},
): string | null {
  return sessionOf({
    accountId,
    modelId,
    headers,
    ask: { body, raw: Buffer.from(JSON.stringify(body)) },
  });
}

describe('a session', () => {
  const long = { model: 'm', messages: [{ role: 'system', content: 'be exact. '.repeat(500) }] };

  test.each([
    ["Claude Code's header", {}, { 'x-claude-code-session-id': 'a' }],
    ["Codex's header", {}, { 'session-id': 'a' }],
    ['prompt_cache_key', { prompt_cache_key: 'a' }, {}],
    ['metadata.user_id', { metadata: { user_id: 'a' } }, {}],
  ])('is known by %s, whatever else is said', (_name, body, headers) => {
    const first = session({ ...body, messages: ['one'] }, { headers });
    expect(first).not.toBeNull();
    expect(session({ ...body, messages: ['one', 'two'] }, { headers })).toBe(first);
  });

  test('is known by a long beginning when nothing names it', () => {
    expect(session({ ...long, more: 1 })).toBe(session({ ...long, more: 2 }));
    expect(session({ ...long, model: 'n' })).not.toBe(session(long));
  });

  test('is none for a short body without a name', () => {
    expect(session({ model: 'm', prompt_cache_key: '', metadata: null })).toBeNull();
  });

  test('belongs to one account and one model', () => {
    const body = { prompt_cache_key: 'a' };
    expect(
      new Set([session(body), session(body, { accountId: 2 }), session(body, { modelId: 2 })]).size,
    ).toBe(3);
  });
});

/** The expected values are computed apart, from the definitions of weighted rendezvous hashing, FNV-1a and MurmurHash3's end. */
test.each([
  ['1/7/session-a', [1.419_861, 0.380_749, 2.720_352]],
  ['1/7/session-b', [1.055_84, 0.533_704, 65.236_894]],
  ['2/7/session-a', [0.380_749, 1.419_861, 2.326_223]],
])('each node of a fleet ranks the routes of %s alike', (name, ranks) => {
  const routes = [1, 1, 4].map((weight, at) => ({ id: at + 1, weight }));
  for (const [at, route] of routes.entries())
    expect(rankFor(name, route)).toBeCloseTo(ranks[at] ?? 0, 5);
});
