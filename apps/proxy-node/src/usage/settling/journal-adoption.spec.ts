import { expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finalText, openHold } from '../../../test/usage/holds.ts';
import { finalOf, usageOf } from '../../../test/usage/metered-redis.ts';
import { silent } from '../../../test/usage/open-recorder.ts';
import { LOCAL_DISK } from '../../journal/journal-disk.ts';
import { journalFileNumbers, journalFolder } from '../../journal/journal-files.ts';
import { acknowledgedLine, admittedLine, finalLine } from '../../journal/journal-line.ts';
import { tryLock } from '../../journal/journal-lock.ts';
import { emptyReplay, replayText, type Replay } from '../../journal/journal-replay.ts';
import { Journal } from '../../journal/journal.ts';
import { adoptJournals, type AdoptionOptions } from './journal-adoption.ts';

const NOW_MS = 10_000_000;

/** Makes a journal of finals that were acknowledged so long before the last acknowledgement, which was an hour ago. */
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

const withDataDir = async (act: (dataDir: string) => Promise<void>): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-adoption-'));
  try {
    await act(dataDir);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
};
const adoption = (own: Replay, dataDir: string, changes: Partial<AdoptionOptions> = {}) =>
  adoptJournals({
    ...{ own, dataDir, folder: join(dataDir, 'journals', 'node-1.1'), worker: 1 },
    ...{ address: 'node-1:1', log: silent, now: () => NOW_MS, disk: LOCAL_DISK, tryLock },
    ...changes,
  });

test('a process that was away for long sends again what Redis had taken shortly before, and nothing older', async () => {
  await withDataDir(async (dataDir) => {
    const { own, rids } = journalOf(16_000, 14_000, 0);
    const { finals } = await adoption(own, dataDir);
    expect(finals.map(({ rid }) => rid)).toEqual(rids.slice(1));
    // Acknowledgements are sent to the node that a final names.
    expect(finals.map(({ final }) => final.node)).toEqual(['node-1:1', 'node-1:1']);
  });
});

test('a background run continues by its new owner, unless any journal has its final; other requests end with what was counted', async () => {
  await withDataDir(async (dataDir) => {
    const folder = journalFolder(dataDir, { node: 'earlier', worker: 0 }, LOCAL_DISK);
    const bounds = { promptTokens: 9, promptTextBytes: 9, outputTokens: 9 };
    const background = {
      upstreamId: 1,
      responseId: 'resp_1',
      bounds,
      attempts: [],
      untilMs: NOW_MS,
    };
    const [ended, running, lost] = [openHold({ background }), openHold({ background }), openHold()];
    const { journal } = await Journal.open({ folder, log: silent });
    for (const hold of [ended, running, lost]) journal.appendLive(admittedLine(hold));
    journal.close();
    const own = emptyReplay();
    replayText(own, finalText(ended));
    const worker0 = { worker: 0, folder: join(dataDir, 'journals', 'node-1.0') };
    const adopted = await adoption(own, dataDir, worker0);
    expect(adopted.runs.map(({ hold }) => hold.rid)).toEqual([running.rid]);
    expect(adopted.finals.map(({ rid, final }) => [rid, final.node, final.outcome])).toEqual([
      [ended.rid, 'node-1:1', 'completed'],
      [lost.rid, 'node-1:1', 'node_lost'],
    ]);
    adopted.release();
    expect(journalFileNumbers(folder)).toEqual([1]);
    const again = await adoption(own, dataDir, worker0);
    again.retire();
    expect(existsSync(folder) && journalFileNumbers(folder).length > 0).toBe(false);
  });
});

test('lines that could not be read are reported from the first one on', async () => {
  await withDataDir(async (dataDir) => {
    const reported: unknown[] = [];
    const log = { ...silent, error: (context: unknown) => void reported.push(context) };
    await adoption(emptyReplay(), dataDir, { log });
    expect(reported).toEqual([]);
    await adoption({ ...emptyReplay(), unreadable: 1 }, dataDir, { log });
    expect(reported).toEqual([{ lines: 1 }]);
  });
});

test('all journals that were adopted are retired, and given back where they could not be', async () => {
  await withDataDir(async (dataDir) => {
    const folders = ['one', 'two', 'three'].map((node) =>
      journalFolder(dataDir, { node, worker: 0 }, LOCAL_DISK),
    );
    for (const folder of folders) {
      const { journal } = await Journal.open({ folder, log: silent });
      journal.appendLive(finalText(openHold()));
      journal.close();
    }
    const adopted = await adoption(emptyReplay(), dataDir, { worker: 0 });
    expect(adopted.finals).toHaveLength(3);
    expect(folders.map((folder) => tryLock(folder))).toEqual([undefined, undefined, undefined]);
    adopted.release();
    const again = await adoption(emptyReplay(), dataDir, { worker: 0 });
    again.retire();
    expect(folders.map((folder) => existsSync(folder))).toEqual([false, false, false]);
  });
});
