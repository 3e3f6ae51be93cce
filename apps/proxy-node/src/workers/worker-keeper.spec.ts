import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { WorkerKeeper, type WorkerProcess } from './worker-keeper.ts';

class FakeWorker implements WorkerProcess {
  readonly pid = 1;
  readonly signals: string[] = [];
  readonly #ending = Promise.withResolvers<number | string>();
  readonly gone = this.#ending.promise;

  constructor(
    readonly index: number,
    readonly isDeaf = false,
  ) {}

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.signals.push(signal);
    if (signal === 'SIGKILL' || !this.isDeaf) this.end(signal);
  }

  end(reason: number | string): void {
    this.#ending.resolve(reason);
  }
}

function keeping({ isDeaf = false } = {}) {
  const forked: FakeWorker[] = [];
  const third = Promise.withResolvers<void>();
  const fork = (index: number): FakeWorker => {
    const worker = new FakeWorker(index, isDeaf);
    if (forked.push(worker) === 3) third.resolve();
    return worker;
  };
  const keeper = new WorkerKeeper({
    count: 2,
    firstIndex: 0,
    fork,
    stopTimeoutMs: 50,
    log: pino({ level: 'silent' }),
  });
  keeper.start();
  return { keeper, forked, third: third.promise };
}

test('a dead worker comes back under its own index, so that it finds its own journal', async () => {
  const { keeper, forked, third } = keeping();
  forked[1]?.end('SIGKILL');
  await third;
  expect(forked.map(({ index }) => index)).toEqual([0, 1, 1]);
  await keeper.stop();
});

test('stopping lets every worker drain and starts none again', async () => {
  const { keeper, forked } = keeping();
  await keeper.stop();
  expect(forked.map(({ signals }) => signals)).toEqual([['SIGTERM'], ['SIGTERM']]);
});

test('a worker that does not end in time is killed', async () => {
  const { keeper, forked } = keeping({ isDeaf: true });
  await keeper.stop();
  expect(forked.map(({ signals }) => signals)).toEqual([
    ['SIGTERM', 'SIGKILL'],
    ['SIGTERM', 'SIGKILL'],
  ]);
});
