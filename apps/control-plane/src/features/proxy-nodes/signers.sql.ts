import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { prepared } from '../../platform/database/prepared.ts';
import { sinceOf } from './node-abilities.ts';
import { acceptedHashes, OWN_CREDENTIALS } from './node-credentials.ts';

const SIGNERS = prepared(
  `SELECT name, ${OWN_CREDENTIALS} AS credential_hashes, ${sinceOf('signs_finals_since')} AS signs_finals_since, ${sinceOf('signs_holds_since')} AS signs_holds_since, last_seen_at, created_at, deleted_at FROM proxy_nodes`,
);
const signerRow = z.object({
  name: z.string(),
  credential_hashes: z.array(z.string()),
  signs_finals_since: z.date().nullable(),
  signs_holds_since: z.date().nullable(),
  last_seen_at: z.date().nullable(),
  created_at: z.date(),
  deleted_at: z.date().nullable(),
});

export interface Signer {
  credentialHashes: readonly string[];
  signsSinceMs: number | null;
  signsHoldsSinceMs: number | null;
  seenAtMs: number | null;
  registeredAtMs: number;
  deletedAtMs: number | null;
}

/** Returns all nodes there are and were, by name: a name may have had several. */
export async function readSigners(
  dataSource: DataSource,
  fleetHashes: readonly string[],
): Promise<Map<string, Signer[]>> {
  const rows: unknown[] = await dataSource.query(SIGNERS);
  const signers = rows.map((raw) => {
    const row = signerRow.parse(raw);
    return {
      name: row.name,
      credentialHashes: acceptedHashes(row.credential_hashes, fleetHashes),
      signsSinceMs: row.signs_finals_since?.getTime() ?? null,
      signsHoldsSinceMs: row.signs_holds_since?.getTime() ?? null,
      seenAtMs: row.last_seen_at?.getTime() ?? null,
      registeredAtMs: row.created_at.getTime(),
      deletedAtMs: row.deleted_at?.getTime() ?? null,
    };
  });
  return Map.groupBy(signers, ({ name }) => name);
}
