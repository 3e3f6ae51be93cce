import { randomBytes } from 'node:crypto';
import { hashCredential } from '@tollgate/contracts';
import type { DataSource } from 'typeorm';
import { configSchema } from '../config.ts';
import { ActivityService, SYSTEM } from '../features/activity/activity.service.ts';
import { Transactions } from '../platform/database/transactions.ts';
import { EXIT, say } from './command.ts';

const OVERLAP = '24 hours';
const CREDENTIAL_BYTES = 32;

/** Gives a node a credential of its own, or another one. What it presented before is accepted for a day more; a repetition shortens nothing. */
export async function rotateNode(
  dataSource: DataSource,
  { name, isDryRun }: { name: string; isDryRun: boolean },
): Promise<number> {
  const { FLEET_CREDENTIAL } = configSchema.pick({ FLEET_CREDENTIAL: true }).parse(process.env);
  const credential = randomBytes(CREDENTIAL_BYTES).toString('base64url');
  await new Transactions(dataSource).run(async (tx) => {
    const [node]: { id: number }[] = await tx.query(
      'SELECT id FROM proxy_nodes WHERE name = $1 AND deleted_at IS NULL FOR UPDATE',
      [name],
    );
    if (!node) throw new Error(`There is no node ${JSON.stringify(name)}.`);
    if (isDryRun) return;
    await tx.query(
      `UPDATE proxy_nodes SET credential_hash = $2, updated_at = now(),
         former_credential_hashes = coalesce(credential_hash, $3) || CASE WHEN former_credentials_until > now() THEN former_credential_hashes ELSE '{}' END,
         former_credentials_until = now() + interval '${OVERLAP}'
       WHERE id = $1`,
      [node.id, hashCredential(credential), hashCredential(FLEET_CREDENTIAL)],
    );
    new ActivityService(dataSource).record(tx, SYSTEM, {
      action: 'node.rotate_credential',
      target: { kind: 'node', id: node.id },
      after: { name },
    });
  });
  if (isDryRun) say(`Node ${name} would get another credential.`);
  else
    say(
      `NODE_CREDENTIAL of ${name}: ${credential}\nWhat it presented before is accepted for ${OVERLAP} more.`,
    );
  return EXIT.done;
}
