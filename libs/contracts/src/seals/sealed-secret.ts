import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { keyIdOf, type EncryptionKeys } from './control-plane-mac.ts';

/**
 * An upstream's API key at rest, in PostgreSQL, Redis and on a node's disk: AES-256-GCM with a random 96-bit nonce under a key derived from
 * ENCRYPTION_KEY for this one purpose. Two forms, base64url:
 * `v2.<key id>.<nonce>.<tag>.<ciphertext>` is bound to the upstream and to its address, so it opens for no other host;
 * `v1.<nonce>.<tag>.<ciphertext>` is bound to the upstream alone. Nodes of an earlier release read v1 only.
 */
export interface SecretBox {
  seal(secret: string, place: SecretPlace, form: SecretForm): string;
  /** Throws SecretUnreadable for a damaged envelope, an unknown key or another place. */
  open(envelope: string, place: SecretPlace): string;
  /** True when the text has this form and, in v2, the current key: nothing is gained by sealing it again. */
  isCurrent(envelope: string, form: SecretForm): boolean;
}

/** The purpose of a secret and the address to which it may be sent. */
export interface SecretPlace {
  upstreamId: number;
  baseUrl: string;
}
export type SecretForm = 'v1' | 'v2';

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
const PARTS = { v1: 4, v2: 5 } as const satisfies Record<SecretForm, number>;

interface Keys {
  id: string;
  v1: Buffer;
  v2: Buffer;
}

export function createSecretBox({ current, next }: EncryptionKeys): SecretBox {
  const newest = deriveKeys(current);
  const known = next === undefined ? [newest] : [newest, deriveKeys(next)];
  return {
    seal: (secret, place, form) =>
      [
        ...(form === 'v2' ? ['v2', newest.id] : ['v1']),
        ...encrypt(newest[form], secret, boundTo(place, form)),
      ].join('.'),
    open: (envelope, place) => {
      const [form, ...parts] = envelope.split('.');
      if ((form !== 'v1' && form !== 'v2') || parts.length !== PARTS[form] - 1)
        throw new SecretUnreadable();
      const keyId = form === 'v2' ? parts.shift() : undefined;
      for (const keys of known) {
        if (keyId !== undefined && keys.id !== keyId) continue;
        const secret = decrypt(keys[form], parts, boundTo(place, form));
        if (secret !== null) return secret;
      }
      throw new SecretUnreadable();
    },
    isCurrent: (envelope, form) =>
      envelope.startsWith(form === 'v2' ? `v2.${newest.id}.` : `${form}.`),
  };
}

function deriveKeys(encryptionKey: string): Keys {
  const master = Buffer.from(encryptionKey, 'base64url');
  if (master.length !== KEY_BYTES)
    throw new RangeError('ENCRYPTION_KEY must be 32 bytes in base64url');
  const derive = (form: SecretForm): Buffer =>
    Buffer.from(hkdfSync('sha256', master, '', `tollgate/sealed-secret/${form}`, KEY_BYTES));
  return { id: keyIdOf(encryptionKey), v1: derive('v1'), v2: derive('v2') };
}

/** JSON keeps a part from running over into the next. */
function boundTo({ upstreamId, baseUrl }: SecretPlace, form: SecretForm): Buffer {
  const owner = `upstream:${upstreamId}`;
  return Buffer.from(form === 'v1' ? owner : JSON.stringify([owner, baseUrl]));
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
