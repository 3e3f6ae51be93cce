import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';

/** Describes a service account of Google, as its JSON file describes it: https://developers.google.com/identity/protocols/oauth2/service-account. */
export interface ServiceAccount {
  readonly clientEmail: string;
  /** Is the private key in PEM. */
  readonly privateKey: string;
  readonly privateKeyId: string | null;
}

const NOT_AN_ACCOUNT = 'must be the JSON file of a service account';
const OTHER_IDENTITY =
  'must be a service account: external_account and other kinds of identity are refused';
const KEY_NOT_READ = 'must have an RSA key in PEM as its private_key';
const OTHER_UNIVERSE = 'must be an account of googleapis.com';

const fileSchema = z.object({
  type: z.string(),
  client_email: z.string().min(3).max(320),
  private_key: z.string(),
  private_key_id: z.string().max(256).optional(),
  universe_domain: z.literal('googleapis.com').optional(),
});

/** Validates the text of such a file. No message repeats a part of it. Its addresses are ignored, because the host of tokens is known. */
export const serviceAccountSchema = z
  .string()
  .max(16_384)
  .superRefine((text, context) => {
    const read = accountOrComplaint(text);
    if (typeof read === 'string') context.addIssue({ code: 'custom', message: read });
  });

/** Reads a service account; throws for a text that `serviceAccountSchema` refuses. */
export function readServiceAccount(text: string): ServiceAccount {
  const read = accountOrComplaint(text);
  if (typeof read === 'string') throw new Error(`a service account ${read}`);
  return read;
}

function accountOrComplaint(text: string): ServiceAccount | string {
  const value = jsonOf(text);
  if (typeof value !== 'object' || value === null || !('type' in value)) return NOT_AN_ACCOUNT;
  if (value.type !== 'service_account') return OTHER_IDENTITY;
  const { data: file, error } = fileSchema.safeParse(value);
  if (error)
    return error.issues.every(({ path }) => path[0] === 'universe_domain')
      ? OTHER_UNIVERSE
      : NOT_AN_ACCOUNT;
  return isRsaKey(file.private_key)
    ? {
        clientEmail: file.client_email,
        privateKey: file.private_key,
        privateKeyId: file.private_key_id ?? null,
      }
    : KEY_NOT_READ;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey({ key: pem, format: 'pem' }).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}
