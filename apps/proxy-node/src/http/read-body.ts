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
/** Bodies are decoded in pieces of this size, with room requested for each piece. */
const DECODED_BYTES = 64 * 1024;

export class ClientGone extends Error {}

/** Bodies up to this size are read and parsed for any caller; for a larger one the key is checked in Redis first. */
const CHEAP_BODY_BYTES = 64 * 1024;

/** Returns true if a body may be large: it is announced so, or its size is unknown until it is read or decoded. */
export function mayBeLarge({
  'content-length': length,
  'content-encoding': encoding,
}: IncomingMessage['headers']): boolean {
  return length === undefined || Number(length) > CHEAP_BODY_BYTES || encoding !== undefined;
}

export interface BodyRoom {
  bytesMax: number;
  take: TakeQuota;
}

export interface BodyListener {
  bodyRead(body: Buffer): void;
  /** Receives a Refusal, or ClientGone when the client left. */
  bodyFailed(error: unknown): void;
}

/**
 * Reads a request body once into one buffer. The limit is checked while reading, so a chunked body without a length meets it too (CVE-2026-44456),
 * and again on the decoded size (security S36). `take` gets the number of bytes that a possibly large body will occupy, and may refuse: of an announced size
 * at once, so that some come through where not all can. Throws Refusal for what the headers show.
 */
export function receiveBody(
  incoming: IncomingMessage,
  { bytesMax, take }: BodyRoom,
  listener: BodyListener,
): void {
  const decoder = decoderOf(incoming.headers['content-encoding']);
  const announced = incoming.headers['content-length'];
  if (Number(announced ?? 0) > bytesMax) throw tooLarge(bytesMax);
  if (announced !== undefined && mayBeLarge(incoming.headers)) take(Number(announced));
  const room = { bytesMax, take: announced === undefined ? take : TAKES_NOTHING };
  const taker = decoder
    ? new EncodedBody({ decoder: decoder({ chunkSize: DECODED_BYTES }), bytesMax, take }, listener)
    : listener;
  // The client may have disconnected while its key was checked, after which no further event arrives.
  if (incoming.destroyed) listener.bodyFailed(new ClientGone());
  else new IncomingBody(incoming, room, taker).listen();
}

/** Does the same as `receiveBody` with a promise. Rejects with Refusal and ClientGone. */
export function readBody(incoming: IncomingMessage, room: BodyRoom): Promise<Buffer> {
  return new Promise((resolve, reject) =>
    receiveBody(incoming, room, { bodyRead: resolve, bodyFailed: reject }),
  );
}

/** A small body takes no room. */
export const TAKES_NOTHING: TakeQuota = () => undefined;

/** Decodes what was read, and passes it on. */
class EncodedBody implements BodyListener {
  readonly #decoding: Parameters<typeof decode>[1];
  readonly #listener: BodyListener;

  constructor(decoding: Parameters<typeof decode>[1], listener: BodyListener) {
    this.#decoding = decoding;
    this.#listener = listener;
  }

  bodyRead(raw: Buffer): void {
    decode(raw, this.#decoding).then(
      (body) => this.#listener.bodyRead(body),
      (error: unknown) => this.#listener.bodyFailed(error),
    );
  }

  bodyFailed(error: unknown): void {
    this.#listener.bodyFailed(error);
  }
}

type Decoder = ReturnType<(typeof DECODERS)[keyof typeof DECODERS]>;

/** A body of 200 bytes can expand to the largest size, so room is taken while it is decoded, before it is in memory. */
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

const BODY = Symbol('body');

type Receiving = IncomingMessage & { [BODY]?: IncomingBody };

// One set of listeners serves all bodies: each finds its body on its request.
function onData(this: Receiving, chunk: Buffer): void {
  this[BODY]?.data(chunk);
}
function onEnd(this: Receiving): void {
  this[BODY]?.end();
}
/** Handles the event `close`, which also follows an error. */
function onClose(this: Receiving): void {
  this[BODY]?.close();
}

class IncomingBody {
  readonly #incoming: Receiving;
  readonly #room: BodyRoom;
  readonly #listener: BodyListener;
  #first: Buffer | null = null;
  #further: Buffer[] | null = null;
  #bytes = 0;
  #isOver = false;

  constructor(incoming: Receiving, room: BodyRoom, listener: BodyListener) {
    this.#incoming = incoming;
    this.#room = room;
    this.#listener = listener;
    incoming[BODY] = this;
  }

  listen(): void {
    this.#incoming.on('end', onEnd).on('close', onClose).on('data', onData);
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += chunk.length;
    try {
      if (this.#bytes > this.#room.bytesMax) throw tooLarge(this.#room.bytesMax);
      this.#room.take(chunk.length);
    } catch (error) {
      // The rest is discarded as it arrives.
      this.#incoming.off('data', onData);
      this.#incoming.resume();
      return this.#fail(error);
    }
    if (this.#first === null) this.#first = chunk;
    else (this.#further ??= [this.#first]).push(chunk);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const body = this.#further ? Buffer.concat(this.#further, this.#bytes) : this.#first;
    this.#listener.bodyRead(body ?? NO_BODY);
  }

  close(): void {
    // Every body closes after its end; creating an error then would cost its stack trace on each request.
    if (!this.#isOver) this.#fail(new ClientGone());
  }

  #fail(error: unknown): void {
    this.#isOver = true;
    this.#listener.bodyFailed(error);
  }
}

const NO_BODY = Buffer.alloc(0);

/**
 * Reads and discards the rest of the body, for as long as a whole request may take. If the connection closed while the client is sending, it would be
 * reset, and the client or a proxy would report a broken connection instead of the 413 and send the body again.
 */
function tooLarge(bytesMax: number): Refusal {
  return new Refusal('body_too_large', {
    detail: `The request body is larger than ${bytesMax} bytes.`,
  });
}
