import { z } from 'zod';
import { furtherAuths, type UpstreamProtocol } from './upstream-protocols.ts';

/** Sent in a header: visible ASCII only. It does not begin as an object does, for the sealed secrets of other kinds are JSON. */
export const upstreamKeySchema = z
  .string()
  .max(8192)
  .regex(/^[\x21-\x7a\x7c-\x7e][\x21-\x7e]*$/, 'must be printable ASCII without spaces');

/** https://docs.aws.amazon.com/general/latest/gr/rande.html */
const region = z
  .string()
  .regex(/^[a-z]{2,4}(?:-[a-z]{1,12}){1,3}-\d{1,2}$/, 'must be a region such as us-east-1');
const awsText = z
  .string()
  .max(8192)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces');

/** Holds the proof of identity for a provider, by kind. */
export const upstreamAuthSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('api_key'), api_key: upstreamKeySchema }),
  z.strictObject({
    type: z.literal('aws'),
    region,
    access_key_id: awsText,
    secret_access_key: awsText,
    session_token: awsText.optional(),
  }),
]);
export type UpstreamAuth = z.infer<typeof upstreamAuthSchema>;

export const AUTH_TYPES = ['api_key', 'aws'] as const satisfies readonly UpstreamAuth['type'][];
export type AuthType = (typeof AUTH_TYPES)[number];

export function takesAuth(protocol: UpstreamProtocol, type: AuthType): boolean {
  return type === 'api_key' || furtherAuths(protocol).includes(type);
}

/** The text that is sealed: a key as it is, as earlier releases read it, and JSON of any other kind. */
export function secretOf(auth: UpstreamAuth): string {
  return auth.type === 'api_key' ? auth.api_key : JSON.stringify(auth);
}

/** Reads what `secretOf` wrote. Throws for JSON that is no credential. */
export function readSecret(secret: string): UpstreamAuth {
  if (!secret.startsWith('{')) return { type: 'api_key', api_key: secret };
  return upstreamAuthSchema.parse(JSON.parse(secret));
}

/** The texts of a credential that must appear in no error and no log. */
export function secretTexts(auth: UpstreamAuth): string[] {
  if (auth.type === 'api_key') return [auth.api_key];
  return [auth.secret_access_key, auth.session_token ?? ''].filter((text) => text !== '');
}
