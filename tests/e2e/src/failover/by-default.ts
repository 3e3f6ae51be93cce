import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Lists modes of the demo upstream for each fault, by its number in the table of docs/reliability.md. `refused` means an address on which no server listens. */
export const MODES_OF_FAULT: Readonly<Record<number, readonly string[]>> = {
  1: ['refused'],
  2: ['dies-first'],
  3: ['500', '502'],
  4: ['503', '529'],
  5: ['429', '429-bare'],
  6: ['stalls-first'],
  7: ['stalls-start'],
  8: ['401', '403'],
  9: ['dies', 'eof'],
  10: ['stalls'],
  11: ['garbage', 'garbage-first'],
  12: ['error-mid', 'error-first', 'error-200'],
  13: ['eof-first'],
  14: ['empty'],
  15: ['html'],
  16: ['overflow'],
};

/** These break a stream in its text; every other mode acts before there is any. */
export const MODES_IN_TEXT: ReadonlySet<string> = new Set([
  'dies',
  'eof',
  'stalls',
  'garbage',
  'error-mid',
]);

/** In JSON answers these are no faults. */
export const MODES_OF_STREAMS: ReadonlySet<string> = new Set(['error-mid']);

export interface Row {
  readonly number: number;
  readonly fault: string;
  readonly json: string;
  readonly stream: string;
}

const DOCUMENT = path.resolve(import.meta.dirname, '../../../../docs/reliability.md');
const ROW = /^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| /gm;

/** Reads the table of what a client sees. */
export function tableOfFaults(): Row[] {
  return [...readFileSync(DOCUMENT, 'utf8').matchAll(ROW)].map(
    ([, number, fault = '', json = '', stream = '']) => ({
      number: Number(number),
      fault,
      json,
      stream,
    }),
  );
}
