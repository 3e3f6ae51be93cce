import { createSecretBox, encryptionKeysOf } from '@tollgate/contracts';
import type { DataSource } from 'typeorm';
import { configSchema } from '../config.ts';
import { ActivityService, SYSTEM } from '../features/activity/activity.service.ts';
import { SnapshotBooks } from '../features/snapshots/snapshot-books.ts';
import { readSealed, sealAgain } from '../features/upstreams/sealed-upstreams.ts';
import { Transactions } from '../platform/database/transactions.ts';
import { counted, EXIT, onlyArgument, say, UsageError, type Command } from './command.ts';
import { withDatabase } from './connections.ts';

const WHAT = 'encryption-key';

export const rotateCommand: Command = {
  synopsis: WHAT,
  says: 'seals upstream keys again that are not sealed with ENCRYPTION_KEY, and says whether ENCRYPTION_KEY_NEXT is still needed',
  run: (call) => {
    if (onlyArgument(call, WHAT) !== WHAT) throw new UsageError(`It takes ${WHAT}.`);
    return withDatabase((dataSource) => rotateEncryptionKey(dataSource, call.isDryRun));
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
    new SnapshotBooks().noteChange(tx);
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
  if (unreadable.length === 0) say('Nothing at rest needs another key than ENCRYPTION_KEY.');
  return unreadable.length === 0 ? EXIT.done : EXIT.unsound;
}
