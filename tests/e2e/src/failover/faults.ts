import type { Protocol } from './two-upstreams.ts';

/** Holds what the first of two upstreams does, while the second is sound. */
export interface Fault {
  /** Is its name in the report. */
  readonly name: string;
  /** Modes of the demo upstream that bring it about; `refused` stands for an address where nothing listens. */
  readonly modes: readonly string[];
  /** Is true when the provider can have billed the attempt, so that `replay: safe` does not repeat it. */
  readonly isBilled: boolean;
  /** Holds what a client sees where the request is not repeated. */
  readonly status?: Readonly<Record<Protocol, number>>;
  /** Is the context window of the second upstream's route, where that matters. */
  readonly window?: number;
}

/** Lists breaks in the middle of a stream's text, which a model may have another upstream continue. */
export const BREAKS: readonly Fault[] = [
  { name: 'reset', modes: ['dies'], isBilled: true },
  { name: 'end without a finish', modes: ['eof'], isBilled: true },
  { name: 'error event', modes: ['error-mid'], isBilled: true },
  { name: 'silence', modes: ['stalls'], isBilled: true },
];

const BROKEN = { chat: 502, messages: 500 };
const SILENT = { chat: 504, messages: 504 };

/** Lists the faults that one request meets alone; those that need several requests have tests of their own. */
export const FAULTS: readonly Fault[] = [
  { name: 'connection refused', modes: ['refused'], isBilled: false },
  { name: 'reset before the head', modes: ['dies-first'], isBilled: true, status: BROKEN },
  { name: 'silence before the head', modes: ['stalls-first'], isBilled: true, status: SILENT },
  { name: 'head, then no content', modes: ['stalls-start'], isBilled: true, status: SILENT },
  {
    name: 'error inside a 200, before content',
    modes: ['error-200', 'error-first'],
    isBilled: false,
  },
  { name: 'empty or cut-off 200', modes: ['empty', 'eof-first'], isBilled: true, status: BROKEN },
  { name: 'HTML page as a 200', modes: ['html'], isBilled: true, status: BROKEN },
  { name: 'invalid JSON', modes: ['garbage-first'], isBilled: true, status: BROKEN },
  { name: 'key refused (401, 403)', modes: ['401', '403'], isBilled: false },
  { name: 'model not found (404)', modes: ['404'], isBilled: false },
  { name: 'rate limit (429)', modes: ['429'], isBilled: false },
  { name: 'prompt too long', modes: ['overflow'], isBilled: false, window: 1_000_000 },
  {
    name: 'overload and failure (408, 409, 425, 500, 502, 503, 529)',
    modes: ['408', '409', '425', '500', '502', '503', '529'],
    isBilled: false,
  },
];
