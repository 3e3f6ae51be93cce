import { expect, test } from '@jest/globals';
import { createLog } from './log.ts';

test('a line of the log names its level in words, its time in ISO 8601 and its process, as the control plane does', () => {
  const lines: string[] = [];
  const log = createLog(
    { LOG_LEVEL: 'info', NODE_NAME: 'node-7', NODE_WORKER: 1 },
    { write: (line: string) => void lines.push(line) },
  );
  log.debug('left out');
  log.warn({ authorization: 'Bearer sk-secret' }, 'upstream request failed');
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
    {
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      service: 'proxy-node',
      node: 'node-7',
      worker: 1,
      authorization: '[redacted]',
      msg: 'upstream request failed',
    },
  ]);
});

test('an error is logged as `err` with its type, message and stack, as the control plane does', () => {
  const lines: string[] = [];
  const log = createLog(
    { LOG_LEVEL: 'info', NODE_NAME: 'node-7', NODE_WORKER: 1 },
    { write: (line: string) => void lines.push(line) },
  );
  log.warn({ err: new TypeError('no such shard') }, 'relay poll failed');
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
    expect.objectContaining({
      err: {
        type: 'TypeError',
        message: 'no such shard',
        stack: expect.stringContaining('log.spec'),
      },
    }),
  ]);
});
