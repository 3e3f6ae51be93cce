import { expect, test } from '@jest/globals';
import { Host } from '../../platform/host/host.ts';
import { UsageArrival } from './usage-arrival.ts';

/** Time passes only where something waits. */
class WaitingHost extends Host {
  private nowMs = 0;

  override monotonicMs(): number {
    return this.nowMs;
  }

  override after(ms: number, act: () => void): () => void {
    setImmediate(() => {
      this.nowMs += ms;
      act();
    });
    return () => undefined;
  }
}

/** The oldest events of each outbox, look by look, the last of which stays; and whether the jobs are done then. */
function arrivalOf(outboxes: Record<string, (string | null)[]>, done: boolean[]) {
  const asked: string[] = [];
  const jobs = new Set(['job']);
  const arrival = new UsageArrival(
    {
      oldestEvent: async (shard) => {
        const [now = null, ...later] = outboxes[shard] ?? [];
        if (later.length > 0) outboxes[shard] = later;
        asked.push(`${shard} ${now}`);
        return now;
      },
    },
    {
      undone: async () => (asked.push('jobs'), jobs),
      areDone: async (_, which) => (expect(which).toBe(jobs), done.shift() ?? true),
    },
    new WaitingHost(),
  );
  return { arrival, asked };
}

test('usage has arrived once it left its outbox and the jobs are done that there were then', async () => {
  const { arrival, asked } = arrivalOf({ a: ['7-1', '7-2', '7-3'], b: [null] }, [false, true]);
  const marks = [
    { shard: 'a', outboxId: '7-1' },
    { shard: 'a', outboxId: '7-2' },
    { shard: 'b', outboxId: '9-0' },
  ];
  expect(await arrival.upTo(marks)).toEqual(marks);
  expect(asked).toEqual(['a 7-1', 'b null', 'a 7-2', 'a 7-3', 'jobs']);
});

test('a shard whose usage stands for 20 s holds up no other', async () => {
  const { arrival } = arrivalOf({ a: ['7-1'], b: ['8-0', '9-1'] }, []);
  const moved = { shard: 'b', outboxId: '9-0' };
  expect(await arrival.upTo([{ shard: 'a', outboxId: '7-1' }, moved])).toEqual([moved]);
});

test('nothing has arrived while a job is not done for 20 s, nor once nothing waits any longer', async () => {
  const marks = [{ shard: 'a', outboxId: '7-1' }];
  const busy = arrivalOf({ a: [null] }, Array<boolean>(200).fill(false));
  expect(await busy.arrival.upTo(marks)).toEqual([]);
  const ended = arrivalOf({ a: [null] }, []);
  ended.arrival.end();
  expect(await ended.arrival.upTo(marks)).toEqual([]);
});
