import { createSecretBox, encryptionKeysOf } from '@tollgate/contracts';
import type { DataSource } from 'typeorm';
import { configSchema } from '../config.ts';
import { ActivityService, SYSTEM } from '../features/activity/activity.service.ts';
import { SnapshotRepository } from '../features/snapshots/snapshot-repository.sql.ts';
import { readSealed, sealAgain } from '../features/upstreams/sealed-upstreams.sql.ts';
import { Transactions } from '../platform/database/transactions.ts';
import { counted, EXIT, say, UsageError, type Command } from './command.ts';
import { withDatabase } from './connections.ts';
import { rotateNode } from './rotate-node.ts';

export const rotateCommand: Command = {
  synopsis: 'encryption-key | node NAME',
  says: 'encryption-key: seals upstream keys again that are not sealed with ENCRYPTION_KEY, and says whether ENCRYPTION_KEY_NEXT is still needed. node: prints another credential for a node, once; what it presented before is accepted for a day more',
  run: ({ args: [what, name, ...rest], isDryRun }) => {
    if (what === 'encryption-key' && name === undefined)
      return withDatabase((dataSource) => rotateEncryptionKey(dataSource, isDryRun));
    if (what === 'node' && name !== undefined && rest.length === 0)
      return withDatabase((dataSource) => rotateNode(dataSource, { name, isDryRun }));
    throw new UsageError('This command takes encryption-key, or node and its name.');
  },
};

async function rotateEncryptionKey(dataSource: DataSource, isDryRun: boolean): Promise<number> {
  const keys = configSchema
    .pick({ ENCRYPTION_KEY: true, ENCRYPTION_KEY_NEXT: true })
    .parse(process.env);
  const box = createSecretBox(encryptionKeysOf(keys));
  const { count, outdated } = await readSealed(dataSource, box);
  if (isDryRun) {
    say(`It would seal ${outdated.length} of ${counted(count, 'upstream key')} again.`);
    return EXIT.done;
  }
  const sealed = await new Transactions(dataSource).run(async (tx) => {
    const changed = await sealAgain(tx, box);
    if (changed === 0) return 0;
    new SnapshotRepository().noteChange(tx);
    new ActivityService(dataSource).record(tx, SYSTEM, {
      action: 'upstreams.reseal',
      target: { kind: 'upstream', id: null },
      after: { count: changed },
    });
    return changed;
  });
  const { unreadable } = await readSealed(dataSource, box);
  say(`${counted(sealed, 'upstream key')} of ${count} sealed again.`);
  for (const { place } of unreadable)
    say(`The key of upstream ${place.upstreamId} opens with neither key.`);
  if (unreadable.length === 0)
    say('ENCRYPTION_KEY opens all stored secrets; no other key is needed.');
  return unreadable.length === 0 ? EXIT.done : EXIT.unsound;
}
