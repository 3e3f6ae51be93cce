import { describe, expect, test } from '@jest/globals';
import type { FleetMessage } from '@tollgate/contracts';
import { RestNews } from './rest-news.ts';
import { UpstreamHealth, type RestBegun, type RouteRef, type RouteUse } from './upstream-health.ts';

const NOW = 1_000_000;
const REF: RouteRef = { upstreamId: 1, routeId: 1 };
/** Is the route in the use of one account. */
const ROUTE: RouteUse = { ...REF, accountId: 7 };
/** Is another model of the same provider. */
const NEIGHBOUR: RouteUse = { ...ROUTE, routeId: 2 };

interface Failures {
  why?: string;
  isCertain?: boolean;
  retryAfterMs?: number | null;
  now?: number;
}

function fail(
  health: UpstreamHealth,
  times: number,
  { why = 'server', isCertain = false, retryAfterMs = null, now = NOW }: Failures = {},
): void {
  for (let failure = 0; failure < times; failure++)
    health.failed(ROUTE, { why, isCertain, retryAfterMs, protocol: 'chat', now });
}

/** Makes one request that fails as a probe does: started, then failed and ended. */
function failProbe(health: UpstreamHealth, now: number): void {
  health.started(ROUTE, now);
  health.ended(ROUTE);
  fail(health, 1, { now });
}

describe('a route that fails', () => {
  test('rests at the fifth failure in a row, and is reported once for all that were under way', () => {
    const rests: RestBegun[] = [];
    const health = new UpstreamHealth({ onRested: (each) => rests.push(each) });
    fail(health, 4);
    expect([health.waitMs(ROUTE, NOW), rests]).toEqual([0, []]);
    fail(health, 3);
    expect(health.waitMs(ROUTE, NOW)).toBe(5_000);
    const begun = {
      restMs: 5_000,
      isProviders: false,
      isRateLimit: false,
      failuresInRow: 5,
      why: 'server',
    };
    expect(rests).toEqual([{ ...ROUTE, ...begun }]);
  });

  test('rests alone: another model of the same provider is served on', () => {
    const health = new UpstreamHealth();
    fail(health, 5);
    expect(health.waitMs(NEIGHBOUR, NOW)).toBe(0);
  });

  test('rests for 15 s at most, however often its probe fails', () => {
    const health = new UpstreamHealth();
    fail(health, 5);
    const rests: number[] = [];
    let now = NOW;
    for (let probe = 0; probe < 5; probe++) {
      now += health.waitMs(ROUTE, now);
      failProbe(health, now);
      rests.push(health.waitMs(ROUTE, now));
    }
    expect(rests).toEqual([10_000, 15_000, 15_000, 15_000, 15_000]);
  });

  test('is asked by one request after its rest; as soon as that one is answered, by all', () => {
    const health = new UpstreamHealth();
    fail(health, 5);
    const later = NOW + 5_000;
    expect(health.waitMs(ROUTE, later)).toBe(0);
    health.started(ROUTE, later);
    expect(health.waitMs(ROUTE, later)).toBe(15_000);
    health.answered(ROUTE, { latencyMs: 10, now: later });
    expect(health.waitMs(ROUTE, later)).toBe(0);
  });

  test('is asked by another probe when the first has had no answer for 15 s', () => {
    const health = new UpstreamHealth();
    fail(health, 5);
    health.started(ROUTE, NOW + 5_000);
    expect(health.waitMs(ROUTE, NOW + 20_000)).toBe(0);
  });

  test('rests at once when its probe had been answered and failed after that', () => {
    const health = new UpstreamHealth();
    fail(health, 5);
    const later = NOW + 5_000;
    health.started(ROUTE, later);
    health.answered(ROUTE, { latencyMs: 10, now: later });
    fail(health, 1, { now: later });
    expect(health.waitMs(ROUTE, later)).toBe(10_000);
  });

  test('rests at the first refusal of its key, and is shown as failing', () => {
    const health = new UpstreamHealth();
    health.started(ROUTE, NOW);
    fail(health, 1, { why: 'auth', isCertain: true });
    expect(health.waitMs(ROUTE, NOW)).toBe(5_000);
    expect(health.dump(NOW)).toMatchObject([
      { upstream_id: 1, failures_in_row: 5, open_for_ms: 5_000 },
    ]);
  });

  test('is well again after one success', () => {
    const recovered: (RouteRef & { accountId: number | null })[] = [];
    const health = new UpstreamHealth({ onRecovered: (route) => recovered.push(route) });
    fail(health, 5);
    health.succeeded(ROUTE, NOW);
    fail(health, 4);
    expect([health.waitMs(ROUTE, NOW), recovered]).toEqual([0, [ROUTE]]);
  });
});

describe("a provider's Retry-After", () => {
  test('is obeyed in full, and taken for no failure', () => {
    const health = new UpstreamHealth();
    fail(health, 9, { why: 'rate_limited', retryAfterMs: 3_600_000 });
    expect(health.waitMs(ROUTE, NOW + 3_599_000)).toBe(1_000);
    expect(health.waitMs(ROUTE, NOW + 3_600_000)).toBe(0);
  });

  test('of an overload is obeyed too', () => {
    const health = new UpstreamHealth();
    fail(health, 1, { why: 'overloaded', retryAfterMs: 30_000 });
    expect(health.waitMs(ROUTE, NOW)).toBe(30_000);
  });

  test('is a second where a rate limit names none', () => {
    const health = new UpstreamHealth();
    fail(health, 1, { why: 'rate_limited' });
    expect(health.waitMs(ROUTE, NOW)).toBe(1_000);
  });
});

describe('a rate limit of the provider', () => {
  const isLimited = (health: UpstreamHealth, now = NOW): boolean =>
    health.isRateLimited(ROUTE, now);

  test('differs from an overload and from failures, as long as it is what the route waits for', () => {
    const [limited, overloaded, failing] = [1, 2, 3].map(() => new UpstreamHealth());
    if (!limited || !overloaded || !failing) throw new Error('three were made');
    fail(limited, 1, { why: 'rate_limited', retryAfterMs: 3_000 });
    expect([isLimited(limited), isLimited(limited, NOW + 3_000)]).toEqual([true, false]);
    fail(limited, 5);
    expect(isLimited(limited)).toBe(false);
    fail(overloaded, 1, { why: 'overloaded', retryAfterMs: 3_000 });
    fail(failing, 5);
    expect([isLimited(overloaded), isLimited(failing)]).toEqual([false, false]);
    fail(overloaded, 1, { why: 'rate_limited', retryAfterMs: 2_000 });
    expect(isLimited(overloaded)).toBe(false);
    fail(overloaded, 1, { why: 'rate_limited', retryAfterMs: 4_000 });
    expect(isLimited(overloaded)).toBe(true);
  });

  test('stays one on the other nodes, which hear of it', () => {
    const announced: FleetMessage[] = [];
    const news = new RestNews({ announce: (message) => announced.push(message), by: 'node-1/0' });
    const health = new UpstreamHealth({ onRested: (begun) => news.rested(begun) });
    const other = new UpstreamHealth();
    other.retain({ upstreams: [{ id: 1 }], routes: [{ id: 1, upstream_id: 1 }] });
    fail(health, 1, { why: 'rate_limited', retryAfterMs: 60_000 });
    const [message] = announced;
    if (message?.kind !== 'account_rest') throw new Error('a rest was announced');
    new RestNews({ announce: () => undefined, by: 'node-2/0' }).hear(message, other, NOW);
    expect([isLimited(other), other.waitMs(ROUTE, NOW)]).toEqual([true, 60_000]);
  });
});

describe('what another node has seen', () => {
  const known = (): UpstreamHealth => {
    const health = new UpstreamHealth();
    health.retain({ upstreams: [{ id: 1 }], routes: [{ id: 1, upstream_id: 1 }] });
    return health;
  };
  const rest = { restMs: 10_000, isProviders: false };

  test('makes a route rest here too, until the other node sees it recover', () => {
    const health = known();
    health.heardRest({ routeId: 1 }, null, { rest, now: NOW });
    expect(health.waitMs(ROUTE, NOW)).toBe(10_000);
    health.heardRecovery({ routeId: 1 }, null, NOW);
    expect(health.waitMs(ROUTE, NOW)).toBe(0);
  });

  test('is doubted where this node was answered a moment ago: one probe goes at once', () => {
    const health = known();
    health.answered(ROUTE, { latencyMs: 10, now: NOW - 1_000 });
    health.heardRest({ routeId: 1 }, null, { rest, now: NOW });
    expect(health.waitMs(ROUTE, NOW)).toBe(0);
    health.started(ROUTE, NOW);
    expect(health.waitMs(ROUTE, NOW)).toBeGreaterThan(0);
    fail(health, 1);
    expect(health.waitMs(ROUTE, NOW)).toBeGreaterThan(0);
  });

  test('of a recovery lets this node probe at once, and does not outweigh its own failures', () => {
    const health = known();
    fail(health, 5);
    health.heardRecovery({ routeId: 1 }, null, NOW);
    expect(health.waitMs(ROUTE, NOW)).toBe(0);
    failProbe(health, NOW);
    expect(health.waitMs(ROUTE, NOW)).toBe(10_000);
  });

  test("of a provider's Retry-After is obeyed in full, and of an unknown route is nothing", () => {
    const health = known();
    health.heardRest({ routeId: 1 }, null, {
      rest: { restMs: 60_000, isProviders: true },
      now: NOW,
    });
    health.heardRest({ routeId: 77 }, null, { rest, now: NOW });
    expect(health.waitMs(ROUTE, NOW)).toBe(60_000);
    expect(health.waitMs({ ...ROUTE, routeId: 77 }, NOW)).toBe(0);
  });
});

describe('a new configuration', () => {
  const routes = [{ id: 1, upstream_id: 1 }];

  test('of its upstream ends a rest, and any other does not', () => {
    const health = new UpstreamHealth();
    const retain = (upstream: { id: number; base_url: string }) =>
      health.retain({ upstreams: [upstream, { id: 2 }], routes });
    retain({ id: 1, base_url: 'https://wrong.example' });
    fail(health, 5);
    retain({ id: 1, base_url: 'https://wrong.example' });
    expect(health.waitMs(ROUTE, NOW)).toBe(5_000);
    retain({ id: 1, base_url: 'https://right.example' });
    expect(health.waitMs(ROUTE, NOW)).toBe(0);
  });

  test('without an upstream forgets it, once no request runs there', () => {
    const health = new UpstreamHealth();
    const without = () => health.retain({ upstreams: [], routes: [] });
    health.started(ROUTE, NOW);
    without();
    expect(health.inFlight(1)).toBe(1);
    health.ended(ROUTE);
    without();
    expect(health.dump(NOW)).toEqual([]);
  });
});

test('an upstream is failing once each of its credentials is refused, and not before', () => {
  const health = new UpstreamHealth();
  const credential = { weight: 1, rpm: null, tpm: null, sealed_api_key: 's', auth_type: 'api_key' };
  health.retain({
    upstreams: [{ id: 1, credentials: [0, 1].map((id) => ({ ...credential, id })) }],
    routes: [{ id: 1, upstream_id: 1 }],
  } as never);
  const refuse = (credentialId: number): void =>
    health.failed(
      { ...ROUTE, credentialId },
      { why: 'auth', isCertain: true, retryAfterMs: null, protocol: 'chat', now: NOW },
    );
  health.started({ ...ROUTE, credentialId: 0 }, NOW);
  refuse(0);
  refuse(0);
  expect(health.dump(NOW)).toMatchObject([{ failures_in_row: 0 }]);
  refuse(1);
  // A failure that is certain counts as a whole row.
  expect(health.dump(NOW)).toMatchObject([{ failures_in_row: 5 }]);
});
