import type { Repository } from 'typeorm';
import { invalidField } from '../../platform/http/refusal.ts';
import { NO_SUCH_CREDENTIAL } from './connection-test.dto.ts';
import { UpstreamCredential } from './upstream-credential.entity.ts';
import type { Upstream } from './upstream.entity.ts';

/** Describes an upstream as requests with one of its credentials reach it. */
export type Tested = Upstream & { readonly credentialId?: number };

/** Returns the upstream with credential `id`; without `id`, with its own, or else with its first further one. Refuses the id of another upstream's. */
export async function withCredential(
  upstreams: Repository<Upstream>,
  row: Upstream,
  id?: number,
): Promise<Tested> {
  if (row.sealedApiKey !== null && (id ?? 0) === 0) return row;
  const [credential] = await upstreams.manager.getRepository(UpstreamCredential).find({
    where: { upstreamId: row.id, ...(id !== undefined && { id }) },
    order: { enabled: 'DESC', id: 'ASC' },
    take: 1,
  });
  if (credential) return { ...row, sealedApiKey: credential.sealed, credentialId: credential.id };
  if (id !== undefined) throw invalidField('credential_id', NO_SUCH_CREDENTIAL);
  return row;
}
