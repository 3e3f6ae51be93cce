import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { keyIdOf, type EncryptionKeys } from './control-plane-mac.ts';

/**
 * Seals an upstream's API key at rest, in PostgreSQL, Redis and on a node's disk: AES-256-GCM with a random 96-bit nonce under a key derived from
 * ENCRYPTION_KEY for this one purpose, as `v1.<key id>.<nonce>.<tag>.<ciphertext>` in base64url. It is bound to the upstream and to its address, so it
 * opens for no other host.
 */
export interface SecretBox {
  seal(secret: string, place: SecretPlace): string;
  /** Opens the envelope. Throws SecretUnreadable for a damaged envelope, an unknown key or another place. */
  open(envelope: string, place: SecretPlace): string;
  /** Is true when it is sealed with the current key: nothing is gained by sealing it again. */
  isCurrent(envelope: string): boolean;
}

/** Names the purpose of a secret and the address to which it may be sent. */
export interface SecretPlace {
  upstreamId: number;
  /** Is absent for the upstream's own credential. */
  credentialId?: number;
  baseUrl: string;
}

export class SecretUnreadable extends Error {
  constructor() {
    super(
      'the sealed secret cannot be opened: it is damaged, belongs to another upstream or address, or ENCRYPTION_KEY differs',
    );
  }
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const FORM = 'v1';
const PARTS = 5;

interface Keys {
  id: string;
  cipher: Buffer;
}

export function createSecretBox({ current, next }: EncryptionKeys): SecretBox {
  const newest = deriveKeys(current);
  const known = next === undefined ? [newest] : [newest, deriveKeys(next)];
  return {
    seal: (secret, place) =>
      [FORM, newest.id, ...encrypt(newest.cipher, secret, boundTo(place))].join('.'),
    open: (envelope, place) => {
      const [form, id, ...parts] = envelope.split('.');
      const keys = known.find((each) => each.id === id);
      if (form !== FORM || !keys || parts.length !== PARTS - 2) throw new SecretUnreadable();
      const secret = decrypt(keys.cipher, parts, boundTo(place));
      if (secret === null) throw new SecretUnreadable();
      return secret;
    },
    isCurrent: (envelope) => envelope.startsWith(`${FORM}.${newest.id}.`),
  };
}

function deriveKeys(encryptionKey: string): Keys {
  const master = Buffer.from(encryptionKey, 'base64url');
  if (master.length !== KEY_BYTES)
    throw new RangeError('ENCRYPTION_KEY must be 32 bytes in base64url');
  const cipher = hkdfSync('sha256', master, '', `tollgate/sealed-secret/${FORM}`, KEY_BYTES);
  return { id: keyIdOf(encryptionKey), cipher: Buffer.from(cipher) };
}

/** JSON keeps a part from running over into the next. */
function boundTo({ upstreamId, credentialId, baseUrl }: SecretPlace): Buffer {
  const credential = credentialId ? `/credential:${credentialId}` : '';
  return Buffer.from(JSON.stringify([`upstream:${upstreamId}${credential}`, baseUrl]));
}

function encrypt(key: Buffer, secret: string, associated: Buffer): string[] {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(
    associated,
  );
  const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return [nonce, cipher.getAuthTag(), ciphertext].map((part) => part.toString('base64url'));
}

function decrypt(key: Buffer, parts: readonly string[], associated: Buffer): string | null {
  const [nonce, tag, ciphertext] = parts.map((part) => Buffer.from(part, 'base64url'));
  if (!nonce || !tag || !ciphertext) return null;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(associated)
      .setAuthTag(tag);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}
