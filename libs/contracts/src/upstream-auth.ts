import { z } from 'zod';
import { readServiceAccount, serviceAccountSchema } from './service-account.ts';
import { authsOf, isSpoken, type UpstreamProtocol } from './upstream-protocols.ts';

/** Is sent in a header, so it is visible ASCII only. It does not begin as an object does, for the sealed secrets of other kinds are JSON. */
export const upstreamKeySchema = z
  .string()
  .max(8192)
  .regex(/^[\x21-\x7a\x7c-\x7e][\x21-\x7e]*$/, 'must be printable ASCII without spaces');

/** See https://docs.aws.amazon.com/general/latest/gr/rande.html */
const region = z
  .string()
  .regex(/^[a-z]{2,4}(?:-[a-z]{1,12}){1,3}-\d{1,2}$/, 'must be a region such as us-east-1');
const visibleText = z
  .string()
  .max(8192)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces');
const ID = /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;
/** Is a tenant of Entra by its id or one of its domains. The names of several tenants at once have no dot. */
const tenant = z
  .string()
  .max(253)
  .regex(
    /^(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)+)$/,
    'must be the id of a tenant or one of its domains',
  );

/** Holds the proof of identity for a provider, by kind. */
export const upstreamAuthSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('api_key'), api_key: upstreamKeySchema }),
  z.strictObject({
    type: z.literal('aws'),
    region,
    access_key_id: visibleText,
    secret_access_key: visibleText,
    session_token: visibleText.optional(),
  }),
  z.strictObject({ type: z.literal('google'), service_account: serviceAccountSchema }),
  z.strictObject({
    type: z.literal('azure'),
    tenant,
    client_id: z.string().regex(ID, 'must be the id of an application'),
    client_secret: visibleText,
  }),
]);
export type UpstreamAuth = z.infer<typeof upstreamAuthSchema>;

export const AUTH_TYPES = [
  'api_key',
  'aws',
  'google',
  'azure',
] as const satisfies readonly UpstreamAuth['type'][];
export type AuthType = (typeof AUTH_TYPES)[number];

/** Is an identity whose requests carry a token that is fetched with it. */
export type TokenAuth = Extract<UpstreamAuth, { type: 'google' | 'azure' }>;

export function isTokenAuth(auth: UpstreamAuth): auth is TokenAuth {
  return auth.type === 'google' || auth.type === 'azure';
}

/** Names the kinds of credential that nodes of some releases which speak their protocol cannot use. */
const LATER_AUTHS = ['google', 'azure'] as const;
type LaterAuth = (typeof LATER_AUTHS)[number];

/** Names the abilities of a node to use these kinds. */
export const AUTH_ABILITIES = LATER_AUTHS.map(authAbility);

export function authAbility(type: LaterAuth): `auth_${LaterAuth}` {
  return `auth_${type}`;
}

/** Returns true for an upstream that no node refuses. `reported` are the protocols and further abilities that every node has. */
export function isServed(
  { protocol, authType }: { protocol: UpstreamProtocol; authType: AuthType },
  reported: readonly string[],
): boolean {
  const later = LATER_AUTHS.find((type) => type === authType);
  return (
    isSpoken(protocol, reported) && (later === undefined || reported.includes(authAbility(later)))
  );
}

export function takesAuth(protocol: UpstreamProtocol, type: AuthType): boolean {
  return authsOf(protocol).includes(type);
}

/** Returns the kinds that a protocol takes, the usual one first. */
export function authTypesOf(protocol: UpstreamProtocol): AuthType[] {
  return authsOf(protocol).flatMap((name) => AUTH_TYPES.find((type) => type === name) ?? []);
}

/** Returns the text that is sealed: a key as it is, and JSON of any other kind. */
export function secretOf(auth: UpstreamAuth): string {
  return auth.type === 'api_key' ? auth.api_key : JSON.stringify(auth);
}

/** Reads what `secretOf` wrote. It throws for JSON that is no credential. */
export function readSecret(secret: string): UpstreamAuth {
  if (!secret.startsWith('{')) return { type: 'api_key', api_key: secret };
  return upstreamAuthSchema.parse(JSON.parse(secret));
}

/** Returns the texts of a credential that must appear in no error and no log. */
export function secretTexts(auth: UpstreamAuth): string[] {
  switch (auth.type) {
    case 'api_key':
      return [auth.api_key];
    case 'aws':
      return [auth.secret_access_key, auth.session_token ?? ''].filter((text) => text !== '');
    case 'google':
      return keyTexts(auth.service_account);
    case 'azure':
      return [auth.client_secret];
  }
}

/** Returns the private key in one piece, as JSON writes it, and each of its lines. */
function keyTexts(account: string): string[] {
  const { privateKey } = readServiceAccount(account);
  const lines = privateKey.split(/\r?\n/).filter((line) => /^[A-Za-z0-9+/=]{16,}$/.test(line));
  return [account, privateKey, JSON.stringify(privateKey).slice(1, -1), ...lines];
}
