import type { IncomingMessage } from 'node:http';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { Refusal } from '../refusals.ts';
import type { TakeQuota } from './body-quota.ts';

const DECODERS = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};
/** What is decoded at a time: room is asked for in these pieces. */
const DECODED_BYTES = 64 * 1024;

export class ClientGone extends Error {}

/** Reading and parsing this much is done for any caller; more costs enough to be worth a question to Redis first. */
const CHEAP_BODY_BYTES = 64 * 1024;

/** Whether a body may be large: announced so, or its size unknown until it is read or decoded. */
export function mayBeLarge({
  'content-length': length,
  'content-encoding': encoding,
}: IncomingMessage['headers']): boolean {
  return length === undefined || Number(length) > CHEAP_BODY_BYTES || encoding !== undefined;
}

/**
 * Reads a request body once into one buffer. The limit is checked while reading, so a chunked body without a length meets it too (CVE-2026-44456),
 * and again on the decoded size (security S36). `take` gets the number of bytes that a possibly large body will occupy, and may refuse: of an announced size
 * at once, so that some come through where not all can. Throws Refusal; ClientGone when the client left.
 */
export async function readBody(
  incoming: IncomingMessage,
  { bytesMax, take }: { bytesMax: number; take: TakeQuota },
): Promise<Buffer> {
  const decoder = decoderOf(incoming.headers['content-encoding']);
  const announced = incoming.headers['content-length'];
  if (Number(announced ?? 0) > bytesMax) throw tooLarge(bytesMax);
  if (announced !== undefined && mayBeLarge(incoming.headers)) take(Number(announced));
  const raw = await readRaw(incoming, {
    bytesMax,
    take: announced === undefined ? take : () => undefined,
  });
  if (decoder === null) return raw;
  return decode(raw, { decoder: decoder({ chunkSize: DECODED_BYTES }), bytesMax, take });
}

type Decoder = ReturnType<(typeof DECODERS)[keyof typeof DECODERS]>;

/** A body of 200 bytes can unfold to the largest size: its room is taken while it unfolds, not once it is in memory beside many others. */
async function decode(
  raw: Buffer,
  { decoder, bytesMax, take }: { decoder: Decoder; bytesMax: number; take: TakeQuota },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let endTurn: (() => void) | undefined;
  decoder.end(raw);
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      if (chunks.length === 1) endTurn = await take.turn?.();
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      take(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal('body_unreadable');
  } finally {
    endTurn?.();
  }
  return Buffer.concat(chunks, bytes);
}

function decoderOf(encoding: string | undefined): (typeof DECODERS)[keyof typeof DECODERS] | null {
  const name = encoding?.trim().toLowerCase() ?? 'identity';
  if (name === 'identity' || name === '') return null;
  if (!Object.hasOwn(DECODERS, name)) throw new Refusal('unsupported_encoding');
  return DECODERS[name as keyof typeof DECODERS];
}

function readRaw(
  incoming: IncomingMessage,
  { bytesMax, take }: { bytesMax: number; take: TakeQuota },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The client may have disconnected while its key was checked: no further event would arrive.
    if (incoming.destroyed) return reject(new ClientGone());
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      try {
        if (bytes > bytesMax) throw tooLarge(bytesMax);
        take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        // What remains is discarded as it comes.
        incoming.off('data', onData);
        incoming.resume();
        reject(error);
      }
    };
    // Every body is closed after its end; an error made then would cost its stack on each request for nothing.
    const onGone = () => reject(new ClientGone());
    incoming.on('data', onData);
    incoming.once('error', onGone);
    incoming.once('close', onGone);
    incoming.once('end', () => {
      incoming.off('close', onGone);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
    });
  });
}

/**
 * The rest of the body is read and discarded, for as long as a whole request may take: a connection that closed under a client that is still
 * sending would be reset, and the client, or a proxy before it, would report a broken connection instead of the 413 and send the body again.
 */
function tooLarge(bytesMax: number): Refusal {
  return new Refusal('body_too_large', {
    detail: `The request body is larger than ${bytesMax} bytes.`,
  });
}
