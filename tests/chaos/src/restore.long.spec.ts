import { closeClient, describeFindings, isSound } from '@tollgate/audit';
import { afterAll, expect, test } from '@jest/globals';
import { restore } from './scenarios/restore.ts';

afterAll(() => closeClient());

test('a database that is lost under load comes back from its backup; what was lost is reported to the token, and the books close', async () => {
  const lines: string[] = [];
  const { findings } = await restore({
    times: undefined,
    seconds: 6,
    readers: undefined,
    everyMs: undefined,
    seed: Date.now() % 1_000_000,
    log: (line) => lines.push(line),
  });
  if (!isSound(findings)) throw new Error(`${lines.join('\n')}\n${describeFindings(findings)}`);
  const reported = findings.find(({ name }) => name === 'reported loss');
  expect(reported?.compared).toBeGreaterThan(5);
}, 300_000);
