import { isVendorsOwn, type SecretPlace, type UpstreamAuth } from '@tollgate/contracts';
import type { UpstreamFields } from '@tollgate/snapshot';
import type { EntityManager } from 'typeorm';
import { placeOf, refuseForeignAddress, refuseForeignAuth } from './given-auth.ts';
import { Upstream } from './upstream.entity.ts';
import type { WholeUpstream } from './upstream-presets.ts';

/** Returns the columns of a new upstream except its secret, from those that were `given`. */
export function newColumns(
  { protocol, base_url, headers = {} }: WholeUpstream,
  given: Partial<Upstream>,
  auth: UpstreamAuth | null | undefined,
): Partial<Upstream> {
  const authType = auth?.type ?? 'api_key';
  refuseForeignAuth(protocol, authType);
  const at = { protocol, baseUrl: given.baseUrl ?? base_url };
  refuseForeignAddress(at);
  const fields = fieldsAt(at);
  return { authType, fields, ...given, headers };
}

/** The row comes first: the secret is sealed to its id. */
export async function inserted(
  tx: EntityManager,
  columns: Partial<Upstream>,
  seal: (place: SecretPlace) => string | null,
): Promise<Upstream> {
  const repository = tx.getRepository(Upstream);
  const result = await repository.insert(columns);
  const id: number = result.identifiers[0]?.['id'];
  const row = await repository.findOneByOrFail({ id });
  const sealedApiKey = seal(placeOf(row));
  if (sealedApiKey !== null) await repository.update({ id }, { sealedApiKey });
  return { ...row, sealedApiKey };
}

/** Returns which fields reach an upstream at this address unless an administrator says otherwise. */
function fieldsAt({ protocol, baseUrl }: Pick<Upstream, 'protocol' | 'baseUrl'>): UpstreamFields {
  return isVendorsOwn(protocol, baseUrl) ? 'all' : 'known';
}

/** An upstream that leaves the vendor's own address leaves with known fields only. */
export function fieldsAfter(row: Upstream, columns: Partial<Upstream>): UpstreamFields {
  const isLeaving = fieldsAt(row) === 'all' && fieldsAt({ ...row, ...columns }) === 'known';
  return isLeaving ? 'known' : row.fields;
}
