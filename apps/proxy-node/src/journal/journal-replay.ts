import type { UsageFinal } from '@tollgate/contracts';
import type { OpenHold } from './open-hold.ts';
import {
  decodeLine,
  raisedCounts,
  type JournalledCounts,
  type JournalLine,
} from './journal-line.ts';

/** Describes a request that was running when its node died. */
export interface LostHold {
  hold: OpenHold;
  counts: JournalledCounts;
  /** Is the time of the last counts, or of the admission without any, in Unix ms. */
  lastSeenAtMs: number;
}

export interface JournalledFinal {
  rid: string;
  epoch: string;
  final: UsageFinal;
  atMs: number;
  acknowledgedAtMs: number | null;
}

export interface Replay {
  lost: Map<string, LostHold>;
  finals: Map<string, JournalledFinal>;
  /** Is the time of the last acknowledgement line in Unix ms. */
  lastAcknowledgedAtMs: number | null;
  /** Is the number of files that end within a line, as after a crash. */
  torn: number;
  /** Is the number of complete lines that could not be read: damage to the disk, or lines of a later release. */
  unreadable: number;
}

export function emptyReplay(): Replay {
  return {
    lost: new Map(),
    finals: new Map(),
    lastAcknowledgedAtMs: null,
    torn: 0,
    unreadable: 0,
  };
}

/**
 * Replays one journal file's text on top of earlier files. It is idempotent and tolerates repeated lines, which live requests leave when a file is
 * retired: a second A only states the hold's current epoch, a second F changes nothing, counts only rise, and an acknowledgement stays.
 */
export function replayText(replay: Replay, text: string): void {
  const lines = text.split('\n');
  const unfinished = lines.pop();
  if (unfinished) replay.torn += 1;
  for (const line of lines) {
    const decoded = decodeLine(line);
    if (decoded) apply(replay, decoded);
    else replay.unreadable += 1;
  }
}

function apply(replay: Replay, line: JournalLine): void {
  switch (line.t) {
    case 'A': {
      const { rid, startedAtMs } = line.hold;
      const known = replay.lost.get(rid);
      if (known) known.hold = line.hold;
      else if (!replay.finals.has(rid))
        replay.lost.set(rid, {
          hold: line.hold,
          counts: {},
          lastSeenAtMs: startedAtMs,
        });
      return;
    }
    case 'C':
      for (const [rid, counts] of Object.entries(line.counts))
        raise(replay.lost.get(rid), counts, line.at);
      return;
    case 'F':
      replay.lost.delete(line.rid);
      if (!replay.finals.has(line.rid))
        replay.finals.set(line.rid, {
          rid: line.rid,
          epoch: line.epoch,
          final: line.final,
          atMs: line.at,
          acknowledgedAtMs: null,
        });
      return;
    case 'K':
      replay.lastAcknowledgedAtMs = line.at;
      for (const [rid] of line.acks) {
        const final = replay.finals.get(rid);
        if (final) final.acknowledgedAtMs ??= line.at;
      }
      return;
    default:
      line satisfies never;
  }
}

function raise(lost: LostHold | undefined, counts: JournalledCounts, atMs: number): void {
  if (!lost) return;
  lost.counts = raisedCounts(lost.counts, counts);
  lost.lastSeenAtMs = Math.max(lost.lastSeenAtMs, atMs);
}
