import {
  addressFault,
  secretOf,
  takesAuth,
  type AuthType,
  type SecretBox,
  type SecretPlace,
  type UpstreamAuth,
  type UpstreamProtocol,
} from '@tollgate/contracts';
import { invalidField } from '../../platform/http/refusal.ts';
import type { Upstream } from './upstream.entity.ts';
import {
  AUTH_NOT_TAKEN,
  KEY_GIVEN_AGAIN,
  ONE_CREDENTIAL,
  type UpdateUpstream,
} from './upstreams.dto.ts';

/** Returns the credential that a request gives: undefined where it gives none, null where it removes the one there is. */
export function authOf({
  api_key: apiKey,
  auth,
}: Pick<UpdateUpstream, 'api_key' | 'auth'>): UpstreamAuth | null | undefined {
  if (auth && apiKey !== undefined) throw invalidField('auth', ONE_CREDENTIAL);
  if (auth) return auth;
  return typeof apiKey === 'string' ? { type: 'api_key', api_key: apiKey } : apiKey;
}

export function refuseForeignAuth(protocol: UpstreamProtocol, type: AuthType): void {
  if (!takesAuth(protocol, type)) throw invalidField('auth.type', AUTH_NOT_TAKEN);
}

export function refuseForeignAddress({
  protocol,
  baseUrl,
}: Pick<Upstream, 'protocol' | 'baseUrl'>): void {
  const fault = addressFault(protocol, baseUrl);
  if (fault !== null) throw invalidField('base_url', fault);
}

/** `auth`: undefined keeps the credential there is, null removes it. A credential never follows to another address: who changes that gives the key for it. */
export function sealedFor(
  box: Pick<SecretBox, 'seal'>,
  { next, row, auth }: { next: Upstream; row: Upstream; auth: UpstreamAuth | null | undefined },
): string | null {
  if (auth === null) return null;
  if (auth !== undefined) return box.seal(secretOf(auth), placeOf(next));
  if (row.sealedApiKey !== null && next.baseUrl !== row.baseUrl)
    throw invalidField('api_key', KEY_GIVEN_AGAIN);
  return row.sealedApiKey;
}

export function placeOf({ id, baseUrl }: Upstream): SecretPlace {
  return { upstreamId: id, baseUrl };
}
