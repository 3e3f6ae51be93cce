import { nodeAddress } from '@tollgate/keyspace';
import { adoptJournals, type AdoptedRequests } from './settling/journal-adoption.ts';
import { LOCAL_DISK } from '../journal/journal-disk.ts';
import { journalFolder } from '../journal/journal-files.ts';
import { tryLock as tryLocalLock } from '../journal/journal-lock.ts';
import { Journal } from '../journal/journal.ts';
import type { RecorderOptions } from './recorder-options.ts';

export interface OpenedJournals {
  journal: Journal;
  adopted: AdoptedRequests;
  /** Call it when the adopted entries are in the own journal. */
  retire: () => void;
}

/** Opens the journal of this worker and reads what earlier processes left. Throws JournalLocked while another process uses this journal. */
export async function openJournals(options: RecorderOptions): Promise<OpenedJournals> {
  const { dataDir, node, worker, log, now = Date.now } = options;
  const { disk = LOCAL_DISK, tryLock = tryLocalLock } = options;
  const folder = journalFolder(dataDir, { node, worker }, disk);
  const opened = await Journal.open({ ...options, folder });
  const adopted = await adoptJournals({
    own: opened.replay,
    dataDir,
    folder,
    worker,
    address: nodeAddress(node, worker),
    log,
    now,
    disk,
    tryLock,
  });
  const retire = (): void => {
    try {
      opened.retire();
      adopted.retire();
    } catch (error) {
      // The disk is full: no request is admitted until there is room, and the next start replays the same files, which changes nothing.
      adopted.release();
      log.error({ err: error }, 'earlier journals could not be rewritten and are kept');
    }
  };
  return { journal: opened.journal, adopted, retire };
}
