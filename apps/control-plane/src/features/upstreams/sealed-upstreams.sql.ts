import {
  OWN_CREDENTIAL,
  SecretUnreadable,
  type SecretBox,
  type SecretPlace,
} from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const sealedRow = z
  .object({
    id: z.number(),
    credential_id: z.number(),
    base_url: z.string(),
    sealed: z.string(),
  })
  .transform((row) => ({
    place: { upstreamId: row.id, credentialId: row.credential_id, baseUrl: row.base_url },
    envelope: row.sealed,
  }));

/** Own credentials first: both statements lock what they read, one after the other. */
const SELECT_SEALED = [
  'SELECT id, 0 AS credential_id, base_url, sealed_api_key AS sealed FROM upstreams WHERE sealed_api_key IS NOT NULL AND deleted_at IS NULL ORDER BY id',
  'SELECT u.id, c.id AS credential_id, u.base_url, c.sealed FROM upstream_credentials c JOIN upstreams u ON u.id = c.upstream_id WHERE u.deleted_at IS NULL ORDER BY c.id',
];

export interface Sealed {
  place: SecretPlace;
  envelope: string;
}
interface Source {
  query: (sql: string) => Promise<unknown[]>;
}

/** Returns upstream keys that are not sealed with the newest key, and those that no key opens: they are left as they are, and nodes report them with their requests. */
export async function readSealed(
  source: Source,
  box: SecretBox,
): Promise<{ count: number; outdated: Sealed[]; unreadable: Sealed[] }> {
  const rows: unknown[] = [];
  for (const select of SELECT_SEALED) rows.push(...(await source.query(select)));
  const sealed = rows.map((row) => sealedRow.parse(row));
  const unreadable = sealed.filter((each) => !opens(box, each));
  return {
    count: sealed.length,
    outdated: sealed.filter((each) => !box.isCurrent(each.envelope) && !unreadable.includes(each)),
    unreadable,
  };
}

/** Answers how many were sealed again; the caller publishes them. */
export async function sealAgain(tx: EntityManager, box: SecretBox): Promise<number> {
  const { outdated } = await readSealed({ query: (sql) => tx.query(`${sql} FOR UPDATE`) }, box);
  for (const { place, envelope } of outdated) {
    const { upstreamId, credentialId = OWN_CREDENTIAL } = place;
    const sealed = box.seal(box.open(envelope, place), place);
    if (credentialId === OWN_CREDENTIAL)
      await tx.query('UPDATE upstreams SET sealed_api_key = $2 WHERE id = $1', [
        upstreamId,
        sealed,
      ]);
    else
      await tx.query('UPDATE upstream_credentials SET sealed = $2 WHERE id = $1', [
        credentialId,
        sealed,
      ]);
  }
  return outdated.length;
}

function opens(box: SecretBox, { place, envelope }: Sealed): boolean {
  try {
    box.open(envelope, place);
    return true;
  } catch (error) {
    if (error instanceof SecretUnreadable) return false;
    throw error;
  }
}
