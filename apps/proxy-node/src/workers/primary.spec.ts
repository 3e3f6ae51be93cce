import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';

/** Is a worker that speaks to a primary which has just closed the channel, before it could know of that. */
const WORKER = `
  import cluster from 'node:cluster';
  import { primaryOfThis } from ${JSON.stringify(join(import.meta.dirname, 'primary.ts'))};
  cluster.worker.exitedAfterDisconnect = true;
  process.send('ready', () => {
    const until = Date.now() + 500;
    while (Date.now() < until);
    primaryOfThis().send({ scrape: 'ready' });
    // A message that fails to be sent raises its error within this time.
    setTimeout(() => console.log('goes on'), 100);
  });
`;

test('a worker whose primary is gone in the middle of a message goes on', async () => {
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', WORKER, 'worker'], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, NODE_UNIQUE_ID: '1' },
  });
  const { stdout, stderr } = worker;
  if (!stdout || !stderr) throw new Error('the worker must have pipes');
  worker.on('message', (message) => message === 'ready' && worker.disconnect());
  const [said, complained, [code]] = await Promise.all([
    text(stdout),
    text(stderr),
    once(worker, 'exit'),
  ]);
  expect([said.trim(), complained, code]).toEqual(['goes on', '', 0]);
});
