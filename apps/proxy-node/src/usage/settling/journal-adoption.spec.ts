import { expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHold } from '../../../test/usage/holds.ts';
import { finalOf, usageOf } from '../../../test/usage/metered-redis.ts';
import { silent } from '../../../test/usage/open-recorder.ts';
import { LOCAL_DISK } from '../../journal/journal-disk.ts';
import { acknowledgedLine, finalLine } from '../../journal/journal-line.ts';
import { tryLock } from '../../journal/journal-lock.ts';
import { emptyReplay, replayText, type Replay } from '../../journal/journal-replay.ts';
import { adoptJournals } from './journal-adoption.ts';

const NOW_MS = 10_000_000;

/** A journal of finals that were acknowledged so long before the last acknowledgement, which was an hour ago. */
function journalOf(...agesMs: number[]): { own: Replay; rids: string[] } {
  const lastMs = NOW_MS - 3_600_000;
  const own = emptyReplay();
  const rids = agesMs.map((ageMs) => {
    const hold = openHold();
    const { rid, epoch } = hold;
    const payload = JSON.stringify(finalOf(hold, usageOf(2, 2)));
    replayText(own, finalLine({ atMs: lastMs - ageMs, rid, epoch, payload }));
    replayText(own, acknowledgedLine(lastMs - ageMs, [[rid, 0]]));
    return rid;
  });
  return { own, rids };
}

test('a process that was away for long sends again what Redis had taken shortly before, and nothing older', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-adoption-'));
  try {
    const { own, rids } = journalOf(16_000, 14_000, 0);
    const { finals } = await adoptJournals({
      own,
      dataDir,
      folder: join(dataDir, 'journals', 'node-1.1'),
      worker: 1,
      address: 'node-1.1',
      log: silent,
      now: () => NOW_MS,
      disk: LOCAL_DISK,
      tryLock,
    });
    expect(finals.map(({ rid }) => rid)).toEqual(rids.slice(1));
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
