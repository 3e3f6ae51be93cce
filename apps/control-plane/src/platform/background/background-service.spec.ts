import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { BackgroundService, type BackgroundServiceOptions } from './background-service.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

class Counter extends BackgroundService {
  runs = 0;
  problem: Error | undefined;

  constructor(options: Partial<BackgroundServiceOptions> = {}) {
    super({ name: 'counter', everyMs: 100, failing: 'cannot be counted', ...options });
  }

  protected runOnce(): Promise<void> {
    this.runs += 1;
    return this.problem ? Promise.reject(this.problem) : Promise.resolve();
  }
}

async function runsWithin(counter: Counter, ms: number): Promise<number> {
  const before = counter.runs;
  await jest.advanceTimersByTimeAsync(ms);
  return counter.runs - before;
}

describe('a background service', () => {
  test('runs from the start of the application to its shutdown', async () => {
    const counter = new Counter();
    expect(await runsWithin(counter, 500)).toBe(0);
    await counter.onApplicationBootstrap();
    expect(await runsWithin(counter, 450)).toBe(5);
    await counter.onApplicationShutdown();
    expect(await runsWithin(counter, 500)).toBe(0);
  });

  test.each([
    [true, 0],
    [false, 5],
  ])(
    'stops before the server closes only when it says so: %s',
    async (stopsFirst, runsWhileItCloses) => {
      const counter = new Counter({ stopsFirst });
      await counter.onApplicationBootstrap();
      await jest.advanceTimersByTimeAsync(50);
      await counter.beforeApplicationShutdown();
      expect(await runsWithin(counter, 500)).toBe(runsWhileItCloses);
      await counter.onApplicationShutdown();
    },
  );

  test('logs a run of failures once, and tries again after its own pause', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const counter = new Counter({ retryMs: 20 });
    counter.problem = new Error('no database');
    await counter.onApplicationBootstrap();
    expect(await runsWithin(counter, 50)).toBe(3);
    expect(warn.mock.calls).toEqual([[counter.problem, 'cannot be counted']]);
    await counter.onApplicationShutdown();
  });
});
