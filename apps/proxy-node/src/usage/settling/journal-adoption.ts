import type { UsageFinal } from '@tollgate/contracts';
import type { Logger } from 'pino';
import { otherJournalFolders, retireJournalFiles } from '../../journal/journal-files.ts';
import { readJournals } from '../../journal/journal-reading.ts';
import type { JournalDisk } from '../../journal/journal-disk.ts';
import type { JournalLock, TryLock } from '../../journal/journal-lock.ts';
import type { LostHold, Replay } from '../../journal/journal-replay.ts';
import { lostFinal } from '../../journal/lost-final.ts';
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
  /** Lists the answers that their upstreams continue in the background. */
  runs: LostHold[];
  /** Deletes the adopted journals; call it when the entries are in the own journal and on disk. */
  retire: () => void;
  /** Leaves journals that were not retired to their next owner. */
  release: () => void;
}

export interface AdoptionOptions {
  own: Replay;
  dataDir: string;
  /** Is the folder of the own journal. */
  folder: string;
  worker: number;
  /** Is the address for the acknowledgements of the adopted finals from now on. */
  address: string;
  log: Pick<Logger, 'error' | 'warn' | 'info'>;
  now: () => number;
  disk: JournalDisk;
  tryLock: TryLock;
}

/**
 * Takes over the journals of earlier processes: this worker's own and, for worker 0, every journal in DATA_DIR that no process holds, so that a node
 * started with fewer workers or another name still settles everything. Requests without a final become finals of the counted usage.
 */
export async function adoptJournals({
  own,
  dataDir,
  folder,
  worker,
  address,
  log,
  now,
  disk,
  tryLock,
}: AdoptionOptions): Promise<AdoptedRequests> {
  const finals = finalsOf(own, { address, now: now(), log });
  const runs = [...own.lost.values()].filter(isRun);
  const held: { lock: JournalLock; retire: () => void }[] = [];
  for (const other of worker === 0 ? otherJournalFolders(dataDir, folder, disk) : []) {
    const lock = lockOf(other, { tryLock, log });
    if (!lock) continue;
    const { replay, ...files } = readJournals(other, disk);
    finals.push(...finalsOf(replay, { address, now: now(), log }));
    runs.push(...[...replay.lost.values()].filter(isRun));
    held.push({
      lock,
      retire: () => {
        retireJournalFiles(other, files, disk);
        lock.retire();
      },
    });
  }
  return {
    finals,
    runs: withoutFinals(runs, finals),
    retire: () => {
      for (let next = held[0]; next; next = held[0]) {
        next.retire();
        held.shift();
      }
    },
    release: () => held.splice(0).forEach(({ lock }) => lock.release()),
  };
}

/** A folder whose lock cannot be judged is skipped: in doubt nothing is adopted. */
function lockOf(
  folder: string,
  { tryLock, log }: Pick<AdoptionOptions, 'tryLock' | 'log'>,
): JournalLock | undefined {
  try {
    return tryLock(folder);
  } catch (error) {
    log.warn({ err: error, folder }, 'a journal could not be locked and is not adopted');
    return undefined;
  }
}

/** Redis is known to have answered until the last acknowledgement; since then it may have been away, whether this process ran or not. */
function finalsOf(
  replay: Replay,
  { address, now, log }: { address: string; now: number; log: AdoptionOptions['log'] },
): AdoptedFinal[] {
  if (replay.unreadable > 0)
    log.error(
      { lines: replay.unreadable },
      'journal lines could not be read; their files are set aside, not deleted',
    );
  const finals = [...replay.finals.values()]
    .filter(
      ({ acknowledgedAtMs }) =>
        acknowledgedAtMs === null ||
        (replay.lastAcknowledgedAtMs ?? now) - acknowledgedAtMs < KEEP_ACKNOWLEDGED_MS,
    )
    .map((journalled) => ({ ...journalled, final: { ...journalled.final, node: address } }));
  const lost = [...replay.lost.values()]
    .filter((lost) => !isRun(lost))
    .map((hold) => ({
      rid: hold.hold.rid,
      epoch: hold.hold.epoch,
      final: lostFinal(hold, address),
      atMs: now,
      acknowledgedAtMs: null,
    }));
  return [...finals, ...lost];
}

function isRun({ hold }: LostHold): boolean {
  return hold.background !== undefined;
}

/** Journals that could not be retired may differ: a run that has ended in one continues in none. */
function withoutFinals(runs: readonly LostHold[], finals: readonly AdoptedFinal[]): LostHold[] {
  const ended = new Set(finals.map(({ rid }) => rid));
  const byRid = new Map(runs.map((run) => [run.hold.rid, run]));
  return [...byRid.values()].filter(({ hold }) => !ended.has(hold.rid));
}
