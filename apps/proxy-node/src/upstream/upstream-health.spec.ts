import { describe, expect, test } from '@jest/globals';
import { UpstreamHealth } from './upstream-health.ts';

const NOW = 1_000_000;
const of = { upstreamId: 1, routeId: 1 };

function failTimes(health: UpstreamHealth, times: number, now = NOW): void {
  for (let failure = 0; failure < times; failure++) health.failed(1, now);
}

describe('the breaker of an upstream', () => {
  test('opens at the fifth failure in a row, and says so once for all that were under way', () => {
    const opened: object[] = [];
    const health = new UpstreamHealth({ onOpened: (each) => opened.push(each) });
    failTimes(health, 4);
    expect([health.waitMs(of, NOW), opened]).toEqual([0, []]);
    failTimes(health, 3);
    expect(health.waitMs(of, NOW)).toBeGreaterThan(0);
    expect(opened).toEqual([{ upstreamId: 1, failuresInRow: 5, openMs: 5_000 }]);
  });

  test('says so again when the probe fails', () => {
    const opened: number[] = [];
    const health = new UpstreamHealth({
      onOpened: ({ failuresInRow }) => opened.push(failuresInRow),
    });
    failTimes(health, 5);
    failTimes(health, 1, NOW + 5_000);
    expect(opened).toEqual([5, 6]);
    expect(health.waitMs(of, NOW + 5_000)).toBe(10_000);
  });

  test('is closed by a new configuration of its upstream, and by no other change', () => {
    const health = new UpstreamHealth();
    const retain = (upstream: { id: number; base_url: string }) =>
      health.retain({ upstreams: [upstream, { id: 2 }], routeIds: new Set([1]) });
    retain({ id: 1, base_url: 'https://wrong.example' });
    failTimes(health, 5);
    retain({ id: 1, base_url: 'https://wrong.example' });
    expect(health.waitMs(of, NOW)).toBe(5_000);
    retain({ id: 1, base_url: 'https://right.example' });
    expect(health.waitMs(of, NOW)).toBe(0);
    expect(health.dump(NOW)).toMatchObject([{ failures_in_row: 0, open_for_ms: 0 }]);
  });

  test('is forgotten with its upstream, once no request runs there', () => {
    const health = new UpstreamHealth();
    const without = () => health.retain({ upstreams: [], routeIds: new Set() });
    health.started(1);
    without();
    expect(health.inFlight(1)).toBe(1);
    health.ended(1);
    without();
    expect(health.dump(NOW)).toEqual([]);
  });
});
