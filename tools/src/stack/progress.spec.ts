import { expect, test } from '@jest/globals';
import { Progress } from './progress.ts';

function recorder(isTTY: boolean): {
  written: string;
  output: { isTTY: boolean; write: (text: string) => void };
} {
  const record = {
    written: '',
    output: { isTTY, write: (text: string) => void (record.written += text) },
  };
  return record;
}

test('outside a terminal each step is one plain line when it begins and one when it ends', async () => {
  const record = recorder(false);
  let nowMs = 0;
  const progress = new Progress(record.output, () => nowMs);
  await progress.step('Build', async () => void (nowMs = 1_500));
  expect(record.written).toBe('...   Build\nok    Build  (1.5 s)\n');
});

test('a failed step says so and passes its error on', async () => {
  const record = recorder(false);
  const progress = new Progress(record.output, () => 0);
  const failed = progress.step('Redis', () => Promise.reject(new Error('no Redis')));
  await expect(failed).rejects.toThrow('no Redis');
  expect(record.written).toContain('FAIL  Redis');
});

test('a terminal shows what is under way in one line that is replaced', async () => {
  const record = recorder(true);
  const progress = new Progress(record.output, () => 0);
  const first = Promise.withResolvers<void>();
  const running = [
    progress.step('Build', () => first.promise),
    progress.step('Redis', () => first.promise),
  ];
  expect(record.written).toContain('...   Build 0.0 s, Redis 0.0 s');
  first.resolve();
  await Promise.all(running);
  const lines = record.written.split('\n').map((line) => line.split('\u001b[2K').at(-1));
  expect(lines).toEqual(['ok    Build  (0.0 s)', 'ok    Redis  (0.0 s)', '']);
});
