import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Everything that the control plane writes into Redis for nodes to believe carries a MAC, because Redis is not trusted: who can write
 * there must not be able to speak as the control plane. A purpose has a key of its own, so a MAC of one never passes for another.
 */
export type MacPurpose = 'snapshot-seal' | 'acknowledgement' | 'end-request';

export interface EncryptionKeys {
  /** ENCRYPTION_KEY: 32 bytes, base64url. Everything new is signed and sealed with it. */
  current: string;
  /** ENCRYPTION_KEY_NEXT: read as well, so that a key can be changed on one process after the other. */
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
  /** `<key id>.<hex>` over the parts, which are signed as JSON, so that none can run over into the next. */
  sign(purpose: MacPurpose, parts: readonly unknown[]): string;
  /** False for a MAC of an unknown key, of another purpose or over other parts. */
  isSigned(purpose: MacPurpose, parts: readonly unknown[], mac: string): boolean;
}

const KEY_BYTES = 32;
const KEY_ID_CHARS = 8;
const MAC_FORM = /^([0-9a-f]{8})\.([0-9a-f]{64})$/;

/** Names a key without telling it. */
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
