import { isAscii, isUtf8 } from 'node:buffer';
import { InvalidRequest } from '../exchange.ts';
import { BodyScan } from '../json/body-scan.ts';
import { bufferOf, isRecord, type JsonRecord } from '../json/json-guard.ts';
import type { JsonLayout } from '../json/json-layout.ts';

/** Deeper bodies are refused: walking and serialising values is recursive, and no real request is nearly as deep. */
const NESTING_MAX = 256;
/** This is far above any real request (the largest are batches of token arrays); reading 32 MB of `0,` would otherwise take gigabytes. */
const VALUES_MAX = 1_000_000;
/** Bounds the fields of the request itself; the richest real one has about fifty. */
const FIELDS_MAX = 1_000;

export type Pause = () => Promise<void>;

export interface ReadBody {
  raw: Uint8Array;
  body: JsonRecord;
  layout: JsonLayout;
}

const LIMITS = { values: VALUES_MAX, depth: NESTING_MAX, fields: FIELDS_MAX };
/** One instance scans one body after another. */
const bodyScan = new BodyScan(LIMITS);

/** Reads the body of any call. It throws `InvalidRequest`. */
export function readBody(raw: Uint8Array): ReadBody {
  bodyScan.begin(raw).advance();
  return scannedBody(raw, bodyScan);
}

/** A piece of this size is read within a few milliseconds. */
const PIECE_BYTES = 1024 * 1024;

export async function readBodyInTurns(raw: Uint8Array, pause: Pause): Promise<ReadBody> {
  const scan = new BodyScan(LIMITS).begin(raw);
  while (!scan.advance(PIECE_BYTES)) await pause();
  await pause();
  const read = scannedBody(raw, scan);
  await pause();
  return read;
}

function scannedBody(raw: Uint8Array, scan: BodyScan): ReadBody {
  if (scan.hasTooManyValues)
    throw invalid(`The request body holds more than ${VALUES_MAX} values.`);
  const body = jsonOf(raw);
  const { layout, duplicate } = scan;
  if (!isRecord(body) || !layout) throw invalid('The request body must be a JSON object.');
  if (scan.isTooDeep)
    throw invalid(`The request body is nested deeper than ${NESTING_MAX} levels.`);
  if (scan.hasTooManyFields) throw invalid(`The request body has more than ${FIELDS_MAX} fields.`);
  if (duplicate !== null)
    throw new InvalidRequest(`The field "${duplicate}" is given more than once.`, {
      param: duplicate,
      code: 'duplicate_field',
    });
  return { raw, body, layout };
}

function invalid(message: string): InvalidRequest {
  return new InvalidRequest(message, { code: 'invalid_json' });
}

function jsonOf(raw: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bufferOf(raw)));
  } catch {
    throw invalid('The request body is not valid JSON.');
  }
}

/** A decoder that refuses wrong bytes takes twice as long for text of European languages as a look before reading. It throws for wrong bytes. */
function textOf(raw: Buffer): string {
  if (isAscii(raw)) return raw.toString('latin1');
  if (!isUtf8(raw)) throw new TypeError('not UTF-8');
  return raw.toString('utf8');
}
