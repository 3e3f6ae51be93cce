import type { ReportedClasses } from './every-class.ts';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Describes the provider's record of an answered request, with which the audit compares the books. */
export interface RecordEntry {
  /** Is the `x-request-id` that the caller sent. */
  rid: string;
  protocol: 'chat' | 'messages' | 'responses' | 'completions' | 'embeddings';
  mode: string;
  /** Is true when the request has a directive (`Plan.isDirected`). */
  isDirected: boolean;
  isStream: boolean;
  /** Counts the output tokens that were written to the socket so far. */
  emitted: number;
  promptTokens: number;
  /** Is the usage that was reported to the caller; null when the report was never sent. */
  reported: { prompt: number; output: number; classes?: ReportedClasses | undefined } | null;
  ending: 'open' | 'finished' | 'aborted' | 'refused';
}

/** Keeps records in memory and, when a file is named, line by line in it, so that a killed provider still has its books. */
export class ProviderRecord {
  #entries: RecordEntry[];
  readonly #file: string | undefined;

  constructor(file?: string) {
    this.#file = file;
    this.#entries =
      file && existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .flatMap(readLine<RecordEntry>)
        : [];
  }

  open(entry: RecordEntry): RecordEntry {
    this.#entries.push(entry);
    return entry;
  }

  /** Writes the end of the entry; call it once. */
  close(entry: RecordEntry, ending: RecordEntry['ending']): void {
    entry.ending = ending;
    if (this.#file) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  /** Lists every attempt, oldest first; one rid may have several. */
  list(rid?: string): RecordEntry[] {
    return rid === undefined ? this.#entries : this.#entries.filter((entry) => entry.rid === rid);
  }

  clear(): void {
    this.#entries = [];
  }
}

/** Returns nothing for a line that a kill has torn. */
export function readLine<T>(line: string): T[] {
  try {
    return [JSON.parse(line) as T];
  } catch {
    return [];
  }
}
