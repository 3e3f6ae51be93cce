import { describe, expect, test } from '@jest/globals';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { UpstreamHealth } from '../../upstream/upstream-health.ts';
import { route } from './route.ts';

const ACCOUNT = 7;
const MINUTE = 60_000;
/** Lists the requests a minute that each provider, or each credential's account, takes. */
const LIMITS = [300, 120, 60] as const;

function candidate(routeId: number, credentialId?: number): Candidate {
  return {
    route: {
      id: routeId,
      model_id: 1,
      upstream_id: routeId,
      upstream_model: 'm',
      priority: 0,
      weight: 1,
      output_limit_field: 'max_tokens',
    },
    upstream: {
      id: routeId,
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
      ...(credentialId !== undefined && { credentialId }),
    },
    weight: 1,
  };
}

const candidates = LIMITS.map((_, at) => candidate(at));
const credentials = LIMITS.map((_, at) => candidate(0, at));
const KINDS = [
  { of: 'routes', candidates },
  { of: 'credentials of one route', candidates: credentials },
];

function refOf({ route: { id }, upstream }: Candidate) {
  return { routeId: id, upstreamId: upstream.id, credentialId: upstream.credentialId };
}

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
  #before = 0;

  take(at: number, now: number): { isTaken: boolean; remaining: number; resetMs: number } {
    const passed = now - this.#before;
    this.#before = now;
    LIMITS.forEach((limit, each) => {
      this.#taken[each] = Math.max(0, (this.#taken[each] ?? 0) - (limit * passed) / MINUTE);
    });
    const limit = LIMITS[at] ?? 0;
    const taken = this.#taken[at] ?? 0;
    const isTaken = taken + 1 <= limit;
    if (isTaken) this.#taken[at] = taken + 1;
    const now_taken = this.#taken[at] ?? 0;
    return {
      isTaken,
      remaining: Math.max(0, Math.floor(limit - now_taken)),
      resetMs: Math.max(1, (now_taken * MINUTE) / limit),
    };
  }
}

interface Run {
  candidates: Candidate[];
  nodes: number;
  requests: number;
  load: number;
  states: boolean;
  session?: (at: number) => string | null;
  /** Prepares the memory of a node. */
  prepare?: (health: UpstreamHealth) => void;
}

/** Returns how many attempts were refused. Answers arrive after 50 to 450 ms, in which other requests are on their way. */
function refusals({
  candidates: all,
  nodes,
  requests,
  load,
  states,
  session = () => null,
  prepare,
}: Run): number {
  const random = drawn(1);
  const provider = new Provider();
  const healths = Array.from({ length: nodes }, () => new UpstreamHealth());
  for (const health of healths) prepare?.(health);
  const summed = LIMITS.reduce((sum, limit) => sum + limit, 0);
  const everyMs = MINUTE / (summed * load);
  const answers: { at: number; tell: () => void }[] = [];
  let count = 0;
  for (let at = 0; at < requests; at += 1) {
    const now = Math.round(at * everyMs);
    const due = answers.filter((answer) => answer.at <= now).sort((a, b) => a.at - b.at);
    for (const answer of due) answer.tell();
    answers.splice(0, answers.length, ...answers.filter((answer) => answer.at > now));
    const health = healths[Math.floor(random() * nodes)] as UpstreamHealth;
    const refused: Candidate[] = [];
    for (let attempt = 0; attempt < LIMITS.length; attempt += 1) {
      const choice = route({
        ...{ health, random, now },
        ...{ groups: [all], tried: [], refused },
        session: session(at),
        accountId: ACCOUNT,
      });
      if (choice.kind !== 'candidate') break;
      const of = all.indexOf(choice.candidate);
      const use = { ...refOf(choice.candidate), accountId: ACCOUNT };
      health.started(use, now);
      const { isTaken, remaining, resetMs } = provider.take(of, now);
      const limits = { requests: { remaining, resetMs }, tokens: null };
      const tell = (then: number): void => {
        health.ended(use);
        if (states) health.rooms.stated(use, limits, then);
        if (isTaken) health.succeeded(use, then);
        else
          health.failed(use, {
            ...{
              why: 'rate_limited',
              retryAfterMs: Math.ceil(MINUTE / (LIMITS[of] ?? 1)),
            },
            ...{ protocol: 'chat', now: then },
          });
      };
      if (isTaken) {
        const then = now + 50 + random() * 400;
        answers.push({ at: then, tell: () => tell(then) });
        break;
      }
      count += 1;
      tell(now);
      refused.push(choice.candidate);
    }
  }
  return count;
}

describe.each(KINDS)('what providers state of the limits of $of', ({ candidates: all }) => {
  const run = { candidates: all, nodes: 3, requests: 10_000, load: 0.9 };

  test('steers 10,000 requests over three nodes at 90 % of three unequal limits: at most 1 % are refused', () => {
    expect(refusals({ ...run, states: true })).toBeLessThanOrEqual(100);
  });

  test('is what does it: by weight alone many more are refused', () => {
    expect(refusals({ ...run, states: false })).toBeGreaterThan(500);
  });

  test('a session leaves before it is refused, and returns', () => {
    const health = new UpstreamHealth();
    const chosen = (now: number): Candidate => {
      const routing = { groups: [all], tried: [], session: '1/1/s', health, now };
      const choice = route({ ...routing, accountId: ACCOUNT, random: () => 0 });
      if (choice.kind !== 'candidate') throw new Error('nothing was chosen');
      return choice.candidate;
    };
    const own = chosen(0);
    const none = { requests: { remaining: 0, resetMs: 1_000 }, tokens: null };
    health.rooms.stated(refOf(own), none, 0);
    expect(chosen(10)).not.toBe(own);
    expect(chosen(1_000)).toBe(own);
    const noTokens = { requests: null, tokens: { remaining: 0, resetMs: 500 } };
    health.rooms.stated(refOf(own), noTokens, 1_000);
    expect([chosen(1_100) === own, chosen(1_500)]).toEqual([false, own]);
  });
});

/** Publishes the three credentials to a node with these declared limits. */
function publish(health: UpstreamHealth, limits: readonly { rpm?: number; tpm?: number }[]): void {
  const [{ upstream, route: row } = candidate(0)] = credentials;
  const declared = limits.map((of, id) => ({
    id,
    weight: 1,
    sealed_api_key: `sealed-${id}`,
    ...of,
  }));
  health.retain({ upstreams: [{ ...upstream, credentials: declared }], routes: [row] });
}

describe('limits that an operator declares', () => {
  const run = { candidates: credentials, nodes: 3, requests: 10_000, load: 0.9, states: false };

  test('steer 10,000 requests over three nodes at 90 % of three unequal limits, where the provider states none: at most 1 % are refused', () => {
    const prepare = (health: UpstreamHealth) =>
      publish(
        health,
        LIMITS.map((rpm) => ({ rpm })),
      );
    expect(refusals({ ...run, prepare })).toBeLessThanOrEqual(100);
  });

  test('leave a credential without requests or tokens alone until its bucket fills, also beside a stated rest', () => {
    const health = new UpstreamHealth();
    publish(health, [{ rpm: 2 }, { tpm: 600 }, {}]);
    const room = (credentialId: number, now: number) =>
      health.rooms.of({ routeId: 0, credentialId }, now);
    expect([0, 1, 2].map((id) => room(id, 0))).toEqual([2, null, null]);
    const [first, second] = credentials as [Candidate, Candidate];
    for (const each of [1, 2]) health.started({ ...refOf(first), accountId: each }, 0);
    health.rooms.used(refOf(second), 700, 0);
    expect([0, 1, 2].map((id) => room(id, 0))).toEqual([0, 0, null]);
    expect([room(0, 29_999), room(0, 30_000)]).toEqual([0, 1]);
    expect([room(1, 10_000), room(1, 10_001)]).toEqual([0, null]);
    const stated = { requests: { remaining: 50, resetMs: 1_000 }, tokens: null };
    health.rooms.stated(refOf(first), stated, 30_000);
    expect(room(0, 30_000)).toBe(1);
  });

  test('count on when something else is published, and from the beginning when they are changed or removed', () => {
    const health = new UpstreamHealth();
    const [first] = credentials as [Candidate];
    const room = () => health.rooms.of({ routeId: 0, credentialId: 0 }, 0);
    publish(health, [{ rpm: 2 }]);
    health.started({ ...refOf(first), accountId: ACCOUNT }, 0);
    publish(health, [{ rpm: 2 }, {}]);
    expect(room()).toBe(1);
    publish(health, [{ rpm: 3 }]);
    expect(room()).toBe(3);
    publish(health, [{}]);
    expect(room()).toBeNull();
  });
});

describe('what a provider states of its limits', () => {
  test('is believed for a minute, so that a wrong reset keeps no route away; a changed route is asked at once', () => {
    const health = new UpstreamHealth();
    const [one] = candidates;
    const upstreams = candidates.map(({ upstream }) => upstream);
    const routes = candidates.map(({ route: row }) => row);
    health.retain({ upstreams, routes });
    const none = { requests: { remaining: 0, resetMs: 1_764_300_000_000 }, tokens: null };
    health.rooms.stated({ routeId: 0 }, none, 0);
    const room = (now: number): number | null => health.rooms.of({ routeId: 0 }, now);
    expect([room(MINUTE - 1), room(MINUTE)]).toEqual([0, null]);
    const moved = { ...one?.upstream, base_url: 'https://other.example/v1' };
    health.retain({ upstreams: [moved as Candidate['upstream'], ...upstreams.slice(1)], routes });
    expect(room(1)).toBeNull();
  });

  test('is no refusal: where none has room, one is asked nevertheless, and a route of the next group before', () => {
    const health = new UpstreamHealth();
    const none = { requests: { remaining: 0, resetMs: 1_000 }, tokens: null };
    for (const each of candidates) health.rooms.stated(refOf(each), none, 0);
    const other = candidate(9);
    const choose = (groups: Candidate[][]) =>
      route({
        ...{ groups, tried: [], session: null, health },
        ...{ accountId: ACCOUNT, now: 10, random: Math.random },
      });
    expect(choose([candidates])).toMatchObject({ kind: 'candidate' });
    expect(choose([candidates, [other]])).toMatchObject({ candidate: { route: { id: 9 } } });
  });
});
