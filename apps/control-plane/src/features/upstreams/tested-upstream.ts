import type { Repository } from 'typeorm';
import { invalidField } from '../../platform/http/refusal.ts';
import { NO_SUCH_CREDENTIAL } from './connection-test.dto.ts';
import { UpstreamCredential } from './upstream-credential.entity.ts';
import type { Upstream } from './upstream.entity.ts';

/** An upstream as requests with one of its credentials reach it. */
export type Tested = Upstream & { readonly credentialId?: number };

/** `id` 0: with its own credential. Refuses the id of another upstream's. */
export async function withCredential(
  upstreams: Repository<Upstream>,
  row: Upstream,
  id = 0,
): Promise<Tested> {
  if (id === 0) return row;
  const credential = await upstreams.manager
    .getRepository(UpstreamCredential)
    .findOneBy({ id, upstreamId: row.id });
  if (!credential) throw invalidField('credential_id', NO_SUCH_CREDENTIAL);
  return { ...row, sealedApiKey: credential.sealed, credentialId: id };
}
