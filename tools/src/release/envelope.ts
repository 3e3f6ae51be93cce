import { createHash, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import { z } from 'zod';

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
const envelope = z.object({
  payloadType: z.literal(PAYLOAD_TYPE),
  payload: z.base64(),
  signatures: z.array(z.object({ keyid: z.string().optional(), sig: z.base64() })).min(1),
});

/**
 * A statement in an envelope of DSSE, signed: https://github.com/secure-systems-lab/dsse/blob/master/envelope.md. `key` is a private key of Ed25519,
 * ECDSA or RSA; its id is the SHA-256 of the public key's SPKI in DER.
 */
export function sealed(statement: string, key: KeyObject): string {
  const payload = Buffer.from(statement);
  const signature = sign(digestOf(key), authenticated(payload), key).toString('base64');
  const signatures = [{ keyid: keyIdOf(createPublicKey(key)), sig: signature }];
  return `${JSON.stringify({ payloadType: PAYLOAD_TYPE, payload: payload.toString('base64'), signatures })}\n`;
}

/** The statement of an envelope that `key` has signed; null for any other text. */
export function opened(text: string, key: KeyObject): string | null {
  const read = envelope.safeParse(parsed(text));
  if (!read.success) return null;
  const payload = Buffer.from(read.data.payload, 'base64');
  const isSigned = read.data.signatures.some(({ sig }) =>
    verify(digestOf(key), authenticated(payload), key, Buffer.from(sig, 'base64')),
  );
  return isSigned ? payload.toString('utf8') : null;
}

/** Pre-authentication encoding: the type is signed with the content, so that neither passes for the other. */
function authenticated(payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(PAYLOAD_TYPE)} ${PAYLOAD_TYPE} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** Ed25519 signs the message itself. */
function digestOf({ asymmetricKeyType }: KeyObject): string | null {
  return asymmetricKeyType === 'ed25519' ? null : 'sha256';
}

function keyIdOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
