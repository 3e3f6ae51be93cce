import { LOCAL_DISK, type JournalDisk } from './journal-disk.ts';
import { journalFileNumbers, readJournalFile } from './journal-files.ts';
import { emptyReplay, replayText, type Replay } from './journal-replay.ts';

export interface JournalReading {
  replay: Replay;
  numbers: number[];
  /** Lists the positions of files in which more is unreadable than a torn end. */
  damaged: number[];
}

/** Returns the content of all files of a journal folder, oldest first. */
export function readJournals(folder: string, disk: JournalDisk = LOCAL_DISK): JournalReading {
  const numbers = journalFileNumbers(folder, disk);
  const replay = emptyReplay();
  const damaged = numbers.filter((number) => {
    const before = replay.unreadable;
    replayText(replay, readJournalFile(folder, number, disk));
    return replay.unreadable > before;
  });
  return { replay, numbers, damaged };
}
