import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ACCOUNTS_MAX } from './account-rests.ts';
import { RouteState, type FailureSeen, type RestOf } from './route-state.ts';

const NOW = 1_000_000;
const HOUR = 3_600_000;
const [ONE, OTHER, THIRD] = [1, 2, 3] as const;

interface Watched {
  readonly route: RouteState;
  readonly rests: RestOf[];
  readonly recovered: (number | null)[];
  /** Lists the protocol of each probe that was asked for. */
  readonly protocols: string[];
}

function watched(): Watched {
  const [rests, recovered, protocols]: [RestOf[], (number | null)[], string[]] = [[], [], []];
  const route = new RouteState({
    onRested: (rest) => rests.push(rest),
    onRecovered: (accountId) => recovered.push(accountId),
    onProbeDue: (protocol) => protocols.push(protocol),
  });
  return { route, rests, recovered, protocols };
}

const failure = (change: Partial<FailureSeen> = {}): FailureSeen => ({
  why: 'server',
  retryAfterMs: null,
  protocol: 'chat',
  now: NOW,
  ...change,
});

function fail(route: RouteState, accountId: number, seen: FailureSeen = failure()): void {
  route.started(accountId, seen.now);
  route.ended(accountId);
  route.failed(accountId, seen);
}

function serve(route: RouteState, accountId: number, now = NOW): void {
  route.started(accountId, now);
  route.answered(accountId, now);
  route.ended(accountId);
  route.succeeded(accountId, now);
}

const waits = (route: RouteState, now = NOW): number[] =>
  [ONE, OTHER, THIRD].map((accountId) => route.waitMs(accountId, now));

/** Makes a route that rests for all, as two accounts failed there and a probe did. */
function down(): Watched {
  const all = watched();
  fail(all.route, ONE);
  fail(all.route, OTHER);
  all.route.probed(failure(), NOW);
  return all;
}

describe('the failures of one account', () => {
  test.each<[string, Partial<FailureSeen>, number]>([
    ['500', {}, 5_000],
    ['a refused key', { why: 'auth', isCertain: true }, 5_000],
    ['Retry-After', { why: 'rate_limited', retryAfterMs: HOUR }, HOUR],
  ])('rest the route for that account alone: %s', (_, change, waitMs) => {
    const { route, protocols } = watched();
    serve(route, OTHER);
    for (let count = 0; count < 30; count += 1) fail(route, ONE, failure(change));
    expect(waits(route)).toEqual([waitMs, 0, 0]);
    expect(route.dump(NOW)).toMatchObject({ failures_in_row: 0, resting_accounts: [ONE] });
    expect(protocols).toEqual([]);
  });

  test('rest the route for it on the other nodes too, and for no other account', () => {
    const { route } = watched();
    route.heardRest(ONE, { restMs: 10_000, isProviders: false }, NOW);
    expect(waits(route)).toEqual([10_000, 0, 0]);
    route.heardRecovery(ONE, NOW);
    expect(waits(route)).toEqual([0, 0, 0]);
  });

  test('in a full table rest it no more, un-rest no other, and take no memory', () => {
    const { route } = watched();
    const refused = failure({ why: 'auth', isCertain: true });
    for (let account = 1; account <= 2 * ACCOUNTS_MAX; account += 1) fail(route, account, refused);
    expect(route.waitMs(ACCOUNTS_MAX, NOW)).toBe(5_000);
    expect(route.waitMs(ACCOUNTS_MAX + 1, NOW)).toBe(0);
    expect(route.dump(NOW).resting_accounts).toHaveLength(ACCOUNTS_MAX);
    const later = NOW + 120_000;
    fail(route, ACCOUNTS_MAX + 1, failure({ ...refused, now: later }));
    expect(route.waitMs(ACCOUNTS_MAX + 1, later)).toBe(5_000);
    expect(route.dump(later).resting_accounts).toEqual([ACCOUNTS_MAX + 1]);
  });
});

describe('a connection that cannot be made', () => {
  const unreached = failure({ why: 'unreachable', isUnreached: true });

  test('counts for all accounts: the fifth rests the route, without a probe', () => {
    const { route, rests, protocols } = watched();
    for (const account of [ONE, OTHER, ONE, OTHER, ONE]) fail(route, account, unreached);
    expect(waits(route)).toEqual([5_000, 5_000, 5_000]);
    expect([rests.map(({ accountId }) => accountId), protocols]).toEqual([[null], []]);
  });

  test('is over once the provider answers any request, however badly', () => {
    const { route, recovered } = watched();
    for (let count = 0; count < 5; count += 1) fail(route, ONE, unreached);
    const later = NOW + 5_000;
    route.started(OTHER, later);
    expect(route.waitMs(ONE, later)).toBeGreaterThan(0);
    route.ended(OTHER);
    route.failed(OTHER, failure({ now: later }));
    expect([waits(route, later), recovered]).toEqual([[0, 0, 0], [null]]);
  });
});

/** The requests are of six accounts: in any order, and in runs of one account after the other. */
const account = fc.integer({ min: 1, max: 6 });
const orders = fc.oneof(
  fc.array(account, { minLength: 100 }),
  fc
    .array(fc.tuple(account, fc.integer({ min: 1, max: 9 })), { minLength: 20 })
    .map((runs) => runs.flatMap(([each, times]) => Array.from({ length: times }, () => each))),
);

describe('several accounts whose requests fail', () => {
  test('have the route probed in their protocol; a sound probe rests it for none', () => {
    const { route, protocols } = watched();
    fail(route, ONE);
    expect(protocols).toEqual([]);
    fail(route, OTHER, failure({ protocol: 'messages' }));
    expect(protocols).toEqual(['messages']);
    route.probed(null, NOW);
    expect(waits(route)).toEqual([0, 0, 0]);
  });

  test('rest it for all where they are all that use it, and the probe fails', () => {
    const { route, rests } = down();
    expect(waits(route)).toEqual([5_000, 5_000, 5_000]);
    expect(rests).toMatchObject([{ accountId: null, restMs: 5_000, why: 'server' }]);
  });

  test('rest it for all where they are three of many, and not where they are two', () => {
    const { route } = watched();
    serve(route, 4);
    fail(route, ONE);
    fail(route, OTHER);
    route.probed(failure(), NOW);
    expect(route.waitMs(4, NOW)).toBe(0);
    fail(route, THIRD);
    expect(route.waitMs(4, NOW)).toBe(5_000);
  });

  test("rest it for as long as the probe's Retry-After says, not their own", () => {
    const { route } = watched();
    const limited = failure({ why: 'rate_limited', retryAfterMs: HOUR });
    fail(route, ONE, limited);
    fail(route, OTHER, limited);
    route.probed({ ...limited, retryAfterMs: 3_000 }, NOW);
    expect(waits(route)).toEqual([HOUR, HOUR, 3_000]);
  });

  test('are no reason for a probe while the route answers another between them', () => {
    const { route, protocols } = watched();
    for (const account of [ONE, OTHER, THIRD]) {
      fail(route, account);
      serve(route, 4);
    }
    expect(protocols).toEqual([]);
  });

  test('leave a provider that is down within ten requests, in whatever order they come', () => {
    fc.assert(
      fc.property(orders, (accounts) => {
        const { route, protocols } = watched();
        for (const account of new Set(accounts)) serve(route, account, NOW - 1_000);
        let asked = 0;
        for (const account of accounts) {
          if (route.waitMs(account, NOW) > 0) continue;
          asked += 1;
          fail(route, account);
          if (protocols.length > 0) route.probed(failure(), NOW);
        }
        expect(asked).toBeLessThanOrEqual(10);
      }),
    );
  });
});

describe('the cost of probes', () => {
  /** Counts the probes while two accounts fail 30 times a second each, as far as they may. */
  function probesOf(seconds: number, step: (all: Watched, now: number) => void): number {
    const all = watched();
    let answered = 0;
    for (let at = NOW; at < NOW + seconds * 1_000; at += 33) {
      for (const account of [ONE, OTHER])
        if (all.route.waitMs(account, at) === 0) fail(all.route, account, failure({ now: at }));
      for (; answered < all.protocols.length; answered += 1) step(all, at);
    }
    return all.protocols.length;
  }

  test('is a request a second and route at most, and falls to one in ten minutes for accounts that provoke failures', () => {
    expect(probesOf(HOUR / 1_000, ({ route }, now) => route.probed(null, now))).toBeLessThan(20);
    expect(probesOf(60, () => undefined)).toBeLessThanOrEqual(4);
  });

  test('is a request a second also where a thousand accounts provoke failures in turn', () => {
    const { route, protocols } = watched();
    let answered = 0;
    for (let each = 1; each <= ACCOUNTS_MAX; each += 1) {
      const now = NOW + each * 3;
      fail(route, each, failure({ now }));
      for (; answered < protocols.length; answered += 1) route.probed(null, now);
    }
    expect(protocols.length).toBeGreaterThan(0);
    expect(protocols.length).toBeLessThanOrEqual(4);
  });

  test('of accounts that provoked failures keeps no outage from the others', () => {
    const { route, protocols } = watched();
    for (const account of [ONE, OTHER]) fail(route, account);
    route.probed(null, NOW);
    const later = NOW + 1_000;
    const now = { now: later };
    for (const account of [ONE, OTHER, 4, 5]) fail(route, account, failure(now));
    expect(protocols).toHaveLength(2);
    route.probed(failure(now), later);
    expect(waits(route, later)).toEqual([5_000, 5_000, 5_000]);
  });
});

describe('a rest for all', () => {
  const later = NOW + 5_000;

  test('ends by a probe: no request of an account that failed tries the route', () => {
    const { route, protocols } = down();
    expect(route.waitMs(ONE, later)).toBeGreaterThan(0);
    expect(protocols).toHaveLength(2);
    route.probed(null, later);
    expect(waits(route, later)).toEqual([0, 0, 0]);
  });

  test('lasts longer after a probe that fails, for 15 s at most', () => {
    const { route } = down();
    let now = later;
    const lasted: number[] = [];
    for (let probe = 0; probe < 4; probe += 1) {
      route.waitMs(ONE, now);
      route.probed(failure({ now }), now);
      lasted.push(route.waitMs(THIRD, now));
      now += route.waitMs(THIRD, now);
    }
    expect(lasted).toEqual([10_000, 15_000, 15_000, 15_000]);
  });

  test('ends by the success of an account that had not failed, one request at a time, where no probe fits the model', () => {
    const { route, recovered } = down();
    expect(route.waitMs(THIRD, later)).toBe(0);
    route.started(THIRD, later);
    expect(route.waitMs(4, later)).toBeGreaterThan(0);
    route.probed(failure({ now: later }), later);
    route.answered(THIRD, later);
    route.ended(THIRD);
    route.succeeded(THIRD, later);
    expect([waits(route, later), recovered]).toEqual([[0, 0, 0], [null]]);
  });

  test('of which another node speaks is tried by a request where no request failed here, and by a probe after one has', () => {
    const { route, protocols } = watched();
    route.heardRest(null, { restMs: 5_000, isProviders: false }, NOW);
    expect(waits(route)).toEqual([5_000, 5_000, 5_000]);
    route.started(ONE, later);
    expect([route.waitMs(OTHER, later) > 0, protocols]).toEqual([true, []]);
    route.ended(ONE);
    route.failed(ONE, failure({ protocol: 'embeddings', now: later }));
    expect(route.waitMs(ONE, later)).toBeGreaterThan(0);
    expect(protocols).toEqual(['embeddings']);
  });

  test('takes the failures of all accounts with it when it ends', () => {
    const { route } = watched();
    for (let count = 0; count < 5; count += 1) fail(route, ONE);
    fail(route, OTHER);
    route.probed(failure(), NOW);
    route.waitMs(ONE, later);
    route.probed(null, later);
    expect(route.dump(later)).toMatchObject({ failures_in_row: 0, resting_accounts: [] });
  });
});
