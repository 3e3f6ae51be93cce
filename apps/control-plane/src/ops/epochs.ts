import { Epochs } from '@tollgate/keyspace';
import { EXIT, say, UsageError, type Command } from './command.ts';
import { withDatabase, withRedis } from './connections.ts';
import { readShards } from './live-books.ts';
import { refillShards } from './refill.ts';
import { hasOpenRestore } from '../features/restores/read-restores.sql.ts';

export const epochsCommand: Command = {
  synopsis: '[refill [SHARD...]]',
  says: 'lists the epoch of each shard in PostgreSQL and in Redis; refill has a control plane fill shards of Redis again from PostgreSQL, all unless named',
  run: ({ args: [verb, ...names], isDryRun }) => {
    if (verb !== undefined && verb !== 'refill')
      throw new UsageError('This command takes refill or no argument.');
    return withDatabase((dataSource) =>
      withRedis(async (redis) => {
        const all = await readShards(dataSource);
        const shards = names.length === 0 ? all : names;
        const unknown = names.filter((name) => !all.includes(name));
        if (unknown.length > 0) throw new UsageError(`There is no shard ${unknown.join(', ')}.`);
        // Usage in Redis that the restored books do not have would be taken for debited.
        if (verb === 'refill' && (await hasOpenRestore(dataSource)))
          throw new Error('A restore is open. Run tollgate-ops loss, which refills the shards.');
        if (verb === 'refill' && !isDryRun)
          await refillShards(dataSource, redis, { shards, all, keepsReaps: true });
        const rows: { shard: string; epoch: string }[] = await dataSource.query(
          'SELECT shard, epoch FROM shard_epochs',
        );
        const inBooks = new Map(rows.map(({ shard, epoch }) => [shard, epoch]));
        const live = new Epochs(redis);
        let isSound = true;
        for (const shard of shards) {
          const [books, found] = [inBooks.get(shard) ?? null, await live.readRaw(shard)];
          isSound &&= books === found;
          say(`${shard} ${books} ${books === found ? 'the same in Redis' : `Redis has ${found}`}`);
        }
        return isSound ? EXIT.done : EXIT.unsound;
      }),
    );
  },
};
