import type { UsageFinal } from '@tollgate/contracts';
import type { Logger } from 'pino';
import { deleteJournalFile, otherJournalFolders, removeJournalFolder } from './journal-files.ts';
import { tryLock } from './journal-lock.ts';
import type { Replay } from './journal-replay.ts';
import { readJournals } from './journal.ts';
import { lostFinal } from './lost-final.ts';
import { KEEP_ACKNOWLEDGED_MS } from './settler.ts';

export interface AdoptedFinal {
  rid: string;
  epoch: string;
  final: UsageFinal;
  atMs: number;
  acknowledgedAtMs: number | null;
}

export interface AdoptedRequests {
  finals: AdoptedFinal[];
  /** Deletes what was adopted; to be called once it is in the own journal and on disk. */
  retire: () => void;
}

export interface AdoptionOptions {
  own: Replay;
  dataDir: string;
  /** Of the own journal. */
  folder: string;
  worker: number;
  /** Who answers for the adopted finals from now on: acknowledgements go there. */
  address: string;
  log: Pick<Logger, 'warn' | 'info'>;
  now: () => number;
}

/**
 * What earlier processes left behind: this worker's own journal and, for worker 0, every journal in DATA_DIR that no process holds, so that a node
 * started with fewer workers or another name still settles everything. Requests without a final become finals of what was counted.
 */
export async function adoptJournals({
  own,
  dataDir,
  folder,
  worker,
  address,
  log,
  now,
}: AdoptionOptions): Promise<AdoptedRequests> {
  const finals = finalsOf(own, { address, now: now(), log });
  const retirements: (() => void)[] = [];
  for (const other of worker === 0 ? otherJournalFolders(dataDir, folder) : []) {
    const lock = tryLock(other);
    if (!lock) continue;
    const { replay, numbers } = readJournals(other);
    finals.push(...finalsOf(replay, { address, now: now(), log }));
    retirements.push(() => {
      for (const number of numbers) deleteJournalFile(other, number);
      lock.release();
      removeJournalFolder(other);
    });
  }
  return { finals, retire: () => retirements.forEach((retire) => retire()) };
}

function finalsOf(
  replay: Replay,
  { address, now, log }: { address: string; now: number; log: AdoptionOptions['log'] },
): AdoptedFinal[] {
  // One per file is the end of a crash; more is a sign of a failing disk.
  if (replay.unreadable > 0)
    log.warn({ lines: replay.unreadable }, 'journal lines could not be read');
  const finals = [...replay.finals.values()]
    .filter(
      ({ acknowledgedAtMs }) =>
        acknowledgedAtMs === null || now - acknowledgedAtMs < KEEP_ACKNOWLEDGED_MS,
    )
    .map((journalled) => ({ ...journalled, final: { ...journalled.final, node: address } }));
  const lost = [...replay.lost.values()].map((hold) => ({
    rid: hold.hold.rid,
    epoch: hold.hold.epoch,
    final: lostFinal(hold, address),
    atMs: now,
    acknowledgedAtMs: null,
  }));
  return [...finals, ...lost];
}
