import { describe, expect, test } from '@jest/globals';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { UpstreamHealth } from '../../upstream/upstream-health.ts';
import { route } from './route.ts';

const NOW = 1_000_000;
const REF = { upstreamId: 1, routeId: 1, accountId: 7 };
const FAILED = { why: 'server', retryAfterMs: null, protocol: 'chat', now: NOW } as const;
const LIMITED = { ...FAILED, why: 'rate_limited', retryAfterMs: 3_000 };
const { accountId } = REF;

function candidate(
  id: number,
  { weight = 1, maxConcurrency = null as number | null } = {},
): Candidate {
  return {
    route: {
      id,
      model_id: 1,
      upstream_id: id,
      upstream_model: 'm',
      priority: 0,
      weight,
      output_limit_field: 'max_tokens',
    },
    upstream: {
      id,
      name: `u${id}`,
      protocol: 'openai',
      base_url: 'https://u.example/v1',
      sealed_api_key: null,
      headers: {},
      connect_timeout_ms: 1,
      first_token_timeout_ms: 1,
      idle_timeout_ms: 1,
      total_timeout_ms: 1,
      max_concurrency: maxConcurrency,
    },
    weight,
  };
}

function choose(
  groups: Candidate[][],
  health = new UpstreamHealth(),
  { tried = [] as number[], session = null as string | null, random = Math.random } = {},
): number | string {
  const choice = route({
    groups,
    tried,
    session,
    health,
    accountId,
    now: NOW,
    random,
  });
  return choice.kind === 'candidate' ? choice.candidate.route.id : choice.kind;
}

function sessionFirstAt(id: number, group: Candidate[]): string {
  for (let at = 0; ; at += 1)
    if (choose([group], new UpstreamHealth(), { session: `1/1/${at}` }) === id) return `1/1/${at}`;
}

describe('route', () => {
  test('prefers the first group and falls to the next when its routes were tried', () => {
    const groups = [[candidate(1)], [candidate(2)]];
    expect(choose(groups)).toBe(1);
    expect(choose(groups, new UpstreamHealth(), { tried: [1] })).toBe(2);
    expect(choose(groups, new UpstreamHealth(), { tried: [1, 2] })).toBe('exhausted');
  });

  test('of two drawn routes takes the less loaded upstream', () => {
    const health = new UpstreamHealth();
    health.started(REF, NOW);
    health.answered(REF, { latencyMs: 500, now: NOW });
    for (let round = 0; round < 50; round++)
      expect(choose([[candidate(1), candidate(2)]], health)).toBe(2);
  });

  test('stays with the first route of a session, however loaded, within its group and while it is well', () => {
    const group = [candidate(1), candidate(2)];
    const session = sessionFirstAt(1, group);
    const health = new UpstreamHealth();
    health.started(REF, NOW);
    health.answered(REF, { latencyMs: 500, now: NOW });
    const groups = [group, [candidate(3)]];
    expect(choose(groups, health, { session })).toBe(1);
    expect(choose(groups, health, { session, tried: [1] })).toBe(2);
    expect(choose(groups, health, { session, tried: [1, 2] })).toBe(3);
    health.failed(REF, LIMITED);
    expect(choose(groups, health, { session })).toBe(2);
  });

  test('ranks the routes of a session alike on every node, and moves only the sessions of a route that is gone', () => {
    const all = [candidate(1), candidate(2), candidate(3)];
    const sessions = Array.from({ length: 300 }, (_, at) => `1/1/session-${at}`);
    const homes = sessions.map((session) => choose([all], new UpstreamHealth(), { session }));
    const reversed = sessions.map((session) =>
      choose([all.toReversed()], new UpstreamHealth(), { session }),
    );
    expect(reversed).toEqual(homes);
    const without = sessions.map((session) =>
      choose([all.slice(0, 2)], new UpstreamHealth(), { session }),
    );
    expect(homes.filter((home, at) => home !== 3 && home !== without[at])).toEqual([]);
    expect(homes.filter((home) => home === 3).length).toBeGreaterThan(60);
  });

  test('gives each route a share of the sessions that is proportional to its weight', () => {
    const group = [candidate(1, { weight: 3 }), candidate(2)];
    const homes = Array.from({ length: 4_000 }, (_, at) =>
      choose([group], new UpstreamHealth(), { session: `1/1/${at}` }),
    );
    const share = homes.filter((home) => home === 1).length / homes.length;
    expect(share).toBeGreaterThan(0.72);
    expect(share).toBeLessThan(0.78);
  });

  test('draws by weight', () => {
    const group = [candidate(1, { weight: 98 }), candidate(2), candidate(3)];
    let state = 1;
    const random = () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
    const drawn = Array.from({ length: 500 }, () =>
      choose([group], new UpstreamHealth(), { random }),
    );
    expect(drawn.filter((id) => id === 1).length).toBeGreaterThan(450);
  });

  test('leaves a cooling route alone until its time, and says how long', () => {
    const health = new UpstreamHealth();
    health.failed(REF, LIMITED);
    expect(choose([[candidate(1)], [candidate(2)]], health)).toBe(2);
    expect(
      route({
        groups: [[candidate(1)]],
        tried: [],
        session: null,
        health,
        accountId,
        now: NOW + 1_000,
        random: Math.random,
      }),
    ).toEqual({
      kind: 'resting',
      waitMs: 2_000,
      isRateLimited: true,
      skipped: [{ upstreamId: 1, routeId: 1, reason: 'resting' }],
    });
    expect(
      route({
        groups: [[candidate(1)]],
        tried: [],
        session: null,
        health,
        accountId,
        now: NOW + 3_000,
        random: Math.random,
      }).kind,
    ).toBe('candidate');
  });

  test('leaves an upstream alone that has no valid token, and says so', () => {
    const routing = {
      groups: [[candidate(1)], [candidate(2)]],
      tried: [],
      session: null,
      accountId,
      now: NOW,
      random: Math.random,
    };
    const without = (...ids: number[]) =>
      new UpstreamHealth({
        tokens: { waitMs: ({ id }) => (ids.includes(id) ? 1_500 : 0), missing: () => [] },
      });
    expect(route({ ...routing, health: without(1) })).toMatchObject({
      kind: 'candidate',
      candidate: { route: { id: 2 } },
    });
    expect(route({ ...routing, health: without(1, 2) })).toEqual({
      kind: 'resting',
      waitMs: 1_500,
      isRateLimited: false,
      skipped: [1, 2].map((id) => ({ upstreamId: id, routeId: id, reason: 'no_token' })),
    });
  });

  test('keeps within an upstream concurrency', () => {
    const health = new UpstreamHealth();
    const only = candidate(1, { maxConcurrency: 1 });
    health.started(REF, NOW);
    expect(choose([[only]], health)).toBe('resting');
    health.ended(REF);
    expect(choose([[only]], health)).toBe(1);
  });

  test('leaves a route alone after five failures in a row, lets one probe through, and goes on after its success', () => {
    const health = new UpstreamHealth();
    for (let failure = 0; failure < 4; failure++) health.failed(REF, FAILED);
    expect(choose([[candidate(1)]], health)).toBe(1);
    health.failed(REF, FAILED);
    expect(choose([[candidate(1)]], health)).toBe('resting');
    const later = {
      groups: [[candidate(1)]],
      tried: [],
      session: null,
      health,
      accountId,
      now: NOW + 6_000,
      random: Math.random,
    };
    expect(route(later).kind).toBe('candidate');
    health.started(REF, NOW);
    expect(route(later).kind).toBe('resting');
    health.succeeded(REF, NOW);
    health.ended(REF);
    expect(route(later).kind).toBe('candidate');
  });
});
