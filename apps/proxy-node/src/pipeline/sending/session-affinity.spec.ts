import { describe, expect, test } from '@jest/globals';
import { SessionAffinity, sessionOf } from './session-affinity.ts';

const NOW = 1_000_000;
const HOUR_MS = 3_600_000;

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

describe('SessionAffinity', () => {
  test('remembers the last route of a session for an hour', () => {
    const affinity = new SessionAffinity();
    affinity.served('s', 1, NOW);
    affinity.served('s', 2, NOW + 1);
    expect(affinity.routeOf('s', NOW + HOUR_MS)).toBe(2);
    expect(affinity.routeOf('s', NOW + HOUR_MS + 1)).toBeNull();
    expect(affinity.routeOf('other', NOW)).toBeNull();
    expect(affinity.routeOf(null, NOW)).toBeNull();
  });

  test('is bounded, and forgets who was quiet the longest', () => {
    const affinity = new SessionAffinity(2);
    for (const [name, routeId] of [
      ['a', 1],
      ['b', 2],
      ['a', 3],
      ['c', 4],
    ] as const)
      affinity.served(name, routeId, NOW);
    expect(affinity.size).toBe(2);
    expect(affinity.routeOf('a', NOW)).toBe(3);
    expect(affinity.routeOf('b', NOW)).toBeNull();
  });
});
