import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Signs everything that nodes believe from Redis, because someone who can write to Redis must not be able to speak for the control plane. Each
 * purpose has its own key, so a MAC of one purpose is invalid for another.
 */
export type MacPurpose = 'snapshot-seal' | 'acknowledgement' | 'end-request';

export interface EncryptionKeys {
  /** Is ENCRYPTION_KEY: 32 bytes, base64url. Everything new is signed and sealed with it. */
  current: string;
  /** ENCRYPTION_KEY_NEXT is accepted as well, so that the key can be changed in one process after another. */
  next?: string | undefined;
}

/** Both kinds of process read these keys from their environment. */
export function encryptionKeysOf(environment: {
  ENCRYPTION_KEY: string;
  ENCRYPTION_KEY_NEXT?: string | undefined;
}): EncryptionKeys {
  return { current: environment.ENCRYPTION_KEY, next: environment.ENCRYPTION_KEY_NEXT };
}

export interface ControlPlaneMac {
  /** Returns `<key id>.<hex>` over the parts. The parts are signed as JSON, so that none can run into the next. */
  sign(purpose: MacPurpose, parts: readonly unknown[]): string;
  /** Returns false for a MAC of an unknown key, of another purpose or over other parts. */
  isSigned(purpose: MacPurpose, parts: readonly unknown[], mac: string): boolean;
}

const KEY_BYTES = 32;
const KEY_ID_CHARS = 8;
const MAC_FORM = /^([0-9a-f]{8})\.([0-9a-f]{64})$/;

/** Identifies a key without revealing it. */
export function keyIdOf(encryptionKey: string): string {
  return createHash('sha256')
    .update(derive(encryptionKey, 'key-id'))
    .digest('hex')
    .slice(0, KEY_ID_CHARS);
}

export function createControlPlaneMac({ current, next }: EncryptionKeys): ControlPlaneMac {
  const masters = new Map([current, next ?? current].map((key) => [keyIdOf(key), key]));
  const currentId = keyIdOf(current);
  const known = new Map<string, Buffer>();
  const digest = (keyId: string, purpose: MacPurpose, parts: readonly unknown[]) => {
    const master = masters.get(keyId);
    if (master === undefined) return null;
    const slot = `${keyId} ${purpose}`;
    const key = known.get(slot) ?? derive(master, purpose);
    known.set(slot, key);
    return createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex');
  };
  return {
    sign: (purpose, parts) => `${currentId}.${digest(currentId, purpose, parts)}`,
    isSigned: (purpose, parts, mac) => {
      const [, keyId = '', given = ''] = MAC_FORM.exec(mac) ?? [];
      const wanted = digest(keyId, purpose, parts);
      return wanted !== null && timingSafeEqual(Buffer.from(given), Buffer.from(wanted));
    },
  };
}

function derive(encryptionKey: string, purpose: string): Buffer {
  const master = Buffer.from(encryptionKey, 'base64url');
  if (master.length !== KEY_BYTES)
    throw new RangeError('ENCRYPTION_KEY must be 32 bytes in base64url');
  return Buffer.from(hkdfSync('sha256', master, '', `tollgate/${purpose}/v1`, KEY_BYTES));
}
