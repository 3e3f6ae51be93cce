import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Secrets at rest, in PostgreSQL, Redis and on a node's disk: AES-256-GCM with a random 96-bit nonce, bound to its owner
 * (`upstream:7`), so that two rows' envelopes cannot be swapped (security S11). Text form: `v1.<nonce>.<tag>.<ciphertext>`, base64url.
 * Both ends derive the key from ENCRYPTION_KEY for this one purpose (S12).
 */
export interface SecretBox {
  seal(secret: string, owner: string): string;
  /** Throws SecretUnreadable for a damaged envelope, another key or another owner. */
  open(envelope: string, owner: string): string;
}

export class SecretUnreadable extends Error {
  constructor() {
    super(
      'the sealed secret cannot be opened: it is damaged, belongs to another owner, or ENCRYPTION_KEY differs',
    );
  }
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Owner of an upstream's API key. */
export function upstreamSecretOwner(upstreamId: number): string {
  return `upstream:${upstreamId}`;
}

/** `encryptionKey`: 32 bytes, base64url. */
export function createSecretBox(encryptionKey: string): SecretBox {
  const master = Buffer.from(encryptionKey, 'base64url');
  if (master.length !== KEY_BYTES)
    throw new RangeError('ENCRYPTION_KEY must be 32 bytes in base64url');
  const key = Buffer.from(hkdfSync('sha256', master, '', 'tollgate/sealed-secret/v1', KEY_BYTES));
  return {
    seal: (secret, owner) => seal(key, secret, owner),
    open: (envelope, owner) => open(key, envelope, owner),
  };
}

function seal(key: Buffer, secret: string, owner: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.from(owner),
  );
  const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return [
    'v1',
    ...[nonce, cipher.getAuthTag(), ciphertext].map((part) => part.toString('base64url')),
  ].join('.');
}

function open(key: Buffer, envelope: string, owner: string): string {
  const [version, nonce, tag, ciphertext, ...rest] = envelope.split('.');
  if (
    version !== 'v1' ||
    nonce === undefined ||
    tag === undefined ||
    ciphertext === undefined ||
    rest.length > 0
  )
    throw new SecretUnreadable();
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(owner))
      .setAuthTag(Buffer.from(tag, 'base64url'));
    return Buffer.concat([
      decipher.update(Buffer.from(ciphertext, 'base64url')),
      decipher.final(),
    ]).toString('utf8');
  } catch {
    throw new SecretUnreadable();
  }
}
