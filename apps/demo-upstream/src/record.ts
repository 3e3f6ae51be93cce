import type { ReportedClasses } from './every-class.ts';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** The provider's record of a request that it answered. The audit compares the books with it. */
export interface RecordEntry {
  /** `x-request-id` the caller sent. */
  rid: string;
  protocol: 'chat' | 'messages' | 'responses' | 'completions' | 'embeddings';
  mode: string;
  /** The request has a directive (`Plan.isDirected`). */
  isDirected: boolean;
  isStream: boolean;
  /** Output tokens written to the socket so far. */
  emitted: number;
  promptTokens: number;
  /** Usage as reported to the caller; null when the report never left. */
  reported: { prompt: number; output: number; classes?: ReportedClasses | undefined } | null;
  ending: 'open' | 'finished' | 'aborted' | 'refused';
}

/** In memory, and line by line in a file when one is named, so that a killed provider still has its books. */
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

  /** Writes the entry's end down; call once. */
  close(entry: RecordEntry, ending: RecordEntry['ending']): void {
    entry.ending = ending;
    if (this.#file) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  /** Every attempt, oldest first; one rid may have several. */
  list(rid?: string): RecordEntry[] {
    return rid === undefined ? this.#entries : this.#entries.filter((entry) => entry.rid === rid);
  }

  clear(): void {
    this.#entries = [];
  }
}

/** Nothing for a line torn by a kill. */
export function readLine<T>(line: string): T[] {
  try {
    return [JSON.parse(line) as T];
  } catch {
    return [];
  }
}
