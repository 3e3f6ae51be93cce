import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import type { EncryptionKeys } from './control-plane-mac.ts';

/** Names the models or the key with which something stored was made. */
export interface StoredMaker {
  /** Names the models that it was made with. */
  modelIds: readonly number[];
  /** Is the key that made it, where no model has. */
  keyId: number | null;
}

/** Bounds a message thread by its last turn: the tokens of its prompt, and the most that its answer had. */
export interface ThreadSize {
  promptTokens: number;
  outputTokens: number;
}

/** Names an object that a provider has stored, and its place. */
export interface StoredPlace extends StoredMaker {
  upstreamId: number;
  /** Names the credential whose account has the object; absent for the upstream's own. */
  credentialId?: number;
  /** Is the provider's own name of the object. */
  id: string;
  /** Only the answers of message threads have it. */
  thread?: ThreadSize;
}

/**
 * Seals ids of what providers store, as clients see them: `<kind>_tg<base64url>`, AES-256-GCM under a key derived from ENCRYPTION_KEY for this one purpose, bound
 * to the account. They name upstream, maker and native id, so that no node keeps a table of them. The same id is sealed to the same text under one key.
 */
export interface IdSealer {
  seal(accountId: number, place: StoredPlace): string;
  /** Returns null for an id of another account, a damaged one and one that was never sealed. */
  open(accountId: number, sealed: string): StoredPlace | null;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORM = /^(?:[a-z]+_)?tg([A-Za-z0-9_-]{40,})$/;
const KIND = /^[a-z]+_/;
/** A credential follows its upstream (`4c2`). The maker is a key (`k7`), or models (`3`, `3+8`; `0` for none). The size of a thread follows it (`3~1200~64`). */
const PLACE = /^(\d+)(?:c(\d+))?\.(?:k(\d+)|(\d+(?:\+\d+)*))(?:~(\d+)~(\d+))?\.([^]+)$/;

interface Keys {
  cipher: Buffer;
  nonce: Buffer;
}

export function isSealedId(id: string): boolean {
  return FORM.test(id);
}

export function createIdSealer({ current, next }: EncryptionKeys): IdSealer {
  const newest = deriveKeys(current);
  const known = next === undefined ? [newest] : [newest, deriveKeys(next)];
  return {
    seal: (accountId, place) => seal(newest, accountId, place),
    open: (accountId, sealed) => {
      const bytes = Buffer.from(FORM.exec(sealed)?.[1] ?? '', 'base64url');
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
      for (const keys of known) {
        const place = open(keys, accountId, bytes);
        if (place && sealed.startsWith(KIND.exec(place.id)?.[0] ?? 'tg')) return place;
      }
      return null;
    },
  };
}

function deriveKeys(encryptionKey: string): Keys {
  const master = Buffer.from(encryptionKey, 'base64url');
  if (master.length !== KEY_BYTES)
    throw new RangeError('ENCRYPTION_KEY must be 32 bytes in base64url');
  const derive = (part: string): Buffer =>
    Buffer.from(hkdfSync('sha256', master, '', `tollgate/stored-id/${part}/v1`, KEY_BYTES));
  return { cipher: derive('cipher'), nonce: derive('nonce') };
}

function seal(keys: Keys, accountId: number, place: StoredPlace): string {
  const { upstreamId, credentialId, modelIds, keyId, id, thread } = place;
  const maker = keyId === null ? modelIds.join('+') || '0' : `k${keyId}`;
  const size = thread ? `~${thread.promptTokens}~${thread.outputTokens}` : '';
  const owner = credentialId ? `${upstreamId}c${credentialId}` : `${upstreamId}`;
  const text = `${owner}.${maker}${size}.${id}`;
  // The nonce is derived from what is sealed: no nonce serves two texts, and a retrieved response has the id that it was created with.
  const nonce = createHmac('sha256', keys.nonce)
    .update(JSON.stringify([accountId, text]))
    .digest()
    .subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keys.cipher, nonce, {
    authTagLength: TAG_BYTES,
  }).setAAD(boundTo(accountId));
  const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return `${KIND.exec(id)?.[0] ?? ''}tg${Buffer.concat(sealed).toString('base64url')}`;
}

function open(keys: Keys, accountId: number, bytes: Buffer): StoredPlace | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', keys.cipher, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(boundTo(accountId))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = Buffer.concat([
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
      decipher.final(),
    ]).toString('utf8');
    return toPlace(text);
  } catch {
    return null;
  }
}

function toPlace(text: string): StoredPlace | null {
  const [, upstreamId, credentialId, key, models = '0', prompt, output, id] =
    PLACE.exec(text) ?? [];
  if (id === undefined) return null;
  const modelIds = models === '0' ? [] : models.split('+').map(Number);
  return {
    upstreamId: Number(upstreamId),
    ...(credentialId !== undefined && { credentialId: Number(credentialId) }),
    modelIds,
    keyId: key === undefined ? null : Number(key),
    id,
    ...(prompt !== undefined && {
      thread: { promptTokens: Number(prompt), outputTokens: Number(output) },
    }),
  };
}

function boundTo(accountId: number): Buffer {
  return Buffer.from(`account:${accountId}`);
}
