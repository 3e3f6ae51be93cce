import { describe, expect, test } from '@jest/globals';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { UpstreamHealth } from '../../upstream/upstream-health.ts';
import { route } from './route.ts';

const ACCOUNT = 7;
const MINUTE = 60_000;
/** Lists the requests a minute that each provider takes. */
const LIMITS = [300, 120, 60] as const;

const candidates: Candidate[] = LIMITS.map((_, at) => ({
  route: {
    id: at,
    model_id: 1,
    upstream_id: at,
    upstream_model: 'm',
    priority: 0,
    weight: 1,
    output_limit_field: 'max_tokens',
  },
  upstream: {
    id: at,
    name: 'u',
    protocol: 'openai',
    base_url: 'https://u.example/v1',
    sealed_api_key: null,
    headers: {},
    connect_timeout_ms: 1,
    first_token_timeout_ms: 1,
    idle_timeout_ms: 1,
    total_timeout_ms: 1,
    max_concurrency: null,
  },
}));

/** Draws by Mulberry32: the draws are the same in each run. */
function drawn(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Is a provider that fills its buckets evenly. */
class Provider {
  readonly #taken = LIMITS.map(() => 0);
  #at = 0;

  take(provider: number, now: number): { isTaken: boolean; remaining: number; resetMs: number } {
    const passed = now - this.#at;
    this.#at = now;
    LIMITS.forEach((limit, at) => {
      this.#taken[at] = Math.max(0, (this.#taken[at] ?? 0) - (limit * passed) / MINUTE);
    });
    const limit = LIMITS[provider] ?? 0;
    const taken = this.#taken[provider] ?? 0;
    const isTaken = taken + 1 <= limit;
    if (isTaken) this.#taken[provider] = taken + 1;
    const now_taken = this.#taken[provider] ?? 0;
    return {
      isTaken,
      remaining: Math.max(0, Math.floor(limit - now_taken)),
      resetMs: Math.max(1, (now_taken * MINUTE) / limit),
    };
  }
}

interface Run {
  nodes: number;
  requests: number;
  load: number;
  states: boolean;
  session?: (at: number) => string | null;
}

/** Returns how many attempts were refused. Answers arrive after 50 to 450 ms, in which other requests are on their way. */
function refusals({ nodes, requests, load, states, session = () => null }: Run): number {
  const random = drawn(1);
  const provider = new Provider();
  const healths = Array.from({ length: nodes }, () => new UpstreamHealth());
  const summed = LIMITS.reduce((sum, limit) => sum + limit, 0);
  const everyMs = MINUTE / (summed * load);
  const answers: { at: number; tell: () => void }[] = [];
  let refused = 0;
  for (let at = 0; at < requests; at += 1) {
    const now = Math.round(at * everyMs);
    const due = answers.filter((answer) => answer.at <= now).sort((a, b) => a.at - b.at);
    for (const answer of due) answer.tell();
    answers.splice(0, answers.length, ...answers.filter((answer) => answer.at > now));
    const health = healths[Math.floor(random() * nodes)] as UpstreamHealth;
    const tried: number[] = [];
    for (let attempt = 0; attempt < LIMITS.length; attempt += 1) {
      const choice = route({
        ...{ health, random, now },
        ...{ groups: [candidates], tried },
        session: session(at),
        accountId: ACCOUNT,
      });
      if (choice.kind !== 'candidate') break;
      const { candidate } = choice;
      const { id: routeId } = candidate.route;
      const use = { routeId, upstreamId: routeId, accountId: ACCOUNT };
      health.started(use, now);
      const { isTaken, remaining, resetMs } = provider.take(routeId, now);
      const limits = { requests: { remaining, resetMs }, tokens: null };
      const tell = (then: number): void => {
        health.ended(use);
        if (states) health.stated(use, limits, then);
        if (isTaken) health.succeeded(use, then);
        else
          health.failed(use, {
            ...{
              why: 'rate_limited',
              retryAfterMs: Math.ceil(MINUTE / (LIMITS[routeId] ?? 1)),
            },
            ...{ protocol: 'chat', now: then },
          });
      };
      if (isTaken) {
        const then = now + 50 + random() * 400;
        answers.push({ at: then, tell: () => tell(then) });
        break;
      }
      refused += 1;
      tell(now);
      tried.push(routeId);
    }
  }
  return refused;
}

describe('what a provider states of its limits', () => {
  const run = { nodes: 3, requests: 10_000, load: 0.9 };

  test('steers 10,000 requests over three nodes at 90 % of three unequal limits: at most 1 % are refused', () => {
    expect(refusals({ ...run, states: true })).toBeLessThanOrEqual(100);
  });

  test('is what does it: by weight alone many more are refused', () => {
    expect(refusals({ ...run, states: false })).toBeGreaterThan(500);
  });

  test('a session leaves its route before that refuses, and returns', () => {
    const health = new UpstreamHealth();
    const chosen = (now: number): number | undefined => {
      const routing = { groups: [candidates], tried: [], session: '1/1/s', health, now };
      const choice = route({ ...routing, accountId: ACCOUNT, random: () => 0 });
      return choice.kind === 'candidate' ? choice.candidate.route.id : undefined;
    };
    const own = chosen(0) ?? 0;
    const none = { requests: { remaining: 0, resetMs: 1_000 }, tokens: null };
    health.stated({ routeId: own, upstreamId: own }, none, 0);
    expect(chosen(10)).not.toBe(own);
    expect(chosen(1_000)).toBe(own);
    const noTokens = { requests: null, tokens: { remaining: 0, resetMs: 500 } };
    health.stated({ routeId: own, upstreamId: own }, noTokens, 1_000);
    expect([chosen(1_100) === own, chosen(1_500)]).toEqual([false, own]);
  });

  test('is believed for a minute, so that a wrong reset keeps no route away; a changed route is asked at once', () => {
    const health = new UpstreamHealth();
    const [one] = candidates;
    const upstreams = candidates.map(({ upstream }) => upstream);
    const routes = candidates.map(({ route: row }) => row);
    health.retain({ upstreams, routes });
    const none = { requests: { remaining: 0, resetMs: 1_764_300_000_000 }, tokens: null };
    health.stated({ routeId: 0, upstreamId: 0 }, none, 0);
    expect([health.room(0, MINUTE - 1), health.room(0, MINUTE)]).toEqual([0, null]);
    const moved = { ...one?.upstream, base_url: 'https://other.example/v1' };
    health.retain({ upstreams: [moved as Candidate['upstream'], ...upstreams.slice(1)], routes });
    expect(health.room(0, 1)).toBeNull();
  });

  test('is no refusal: where none has room, one is asked nevertheless, and a route of the next group before', () => {
    const health = new UpstreamHealth();
    const none = { requests: { remaining: 0, resetMs: 1_000 }, tokens: null };
    for (const {
      route: { id },
    } of candidates)
      health.stated({ routeId: id, upstreamId: id }, none, 0);
    const [first] = candidates;
    const other = { ...first, route: { ...first?.route, id: 9 } } as Candidate;
    const choose = (groups: Candidate[][]) =>
      route({
        ...{ groups, tried: [], session: null, health },
        ...{ accountId: ACCOUNT, now: 10, random: Math.random },
      });
    expect(choose([candidates])).toMatchObject({ kind: 'candidate' });
    expect(choose([candidates, [other]])).toMatchObject({ candidate: { route: { id: 9 } } });
  });
});
