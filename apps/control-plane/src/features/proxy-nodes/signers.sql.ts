import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { prepared } from '../../platform/database/prepared.ts';
import { acceptedHashes, OWN_CREDENTIALS } from './node-credentials.ts';

const SIGNERS = prepared(
  `SELECT name, ${OWN_CREDENTIALS} AS credential_hashes, deleted_at FROM proxy_nodes`,
);
const signerRow = z.object({
  name: z.string(),
  credential_hashes: z.array(z.string()),
  deleted_at: z.date().nullable(),
});

export interface Signer {
  credentialHashes: readonly string[];
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
      deletedAtMs: row.deleted_at?.getTime() ?? null,
    };
  });
  return Map.groupBy(signers, ({ name }) => name);
}
