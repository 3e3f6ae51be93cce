import { shardOf, UnreadableBalance, type RedisConnection } from '@tollgate/keyspace';
import type { DataSource } from 'typeorm';
import { brokenRows, CHECKED, CHECKED_NAMES } from '../features/books/broken-rows.sql.ts';
import { LIVE_BALANCES } from '../features/books/equalities.ts';
import { counted, EXIT, noArguments, report, say, type Command } from './command.ts';
import { isRedisNamed, withDatabase, withRedis } from './connections.ts';
import { compareAtRest, readShards } from './live-books.ts';

const QUIET_WITHIN_MS = 15_000;

export const auditCommand: Command = {
  says: 'proves every equality between ledgers and balances, and the rules by which charges, purchases and refunds are made; with REDIS_URL also balances in Redis, once nothing is on its way',
  run: (call) => {
    noArguments(call);
    return withDatabase(prove, { role: 'reader' });
  },
};

async function prove(dataSource: DataSource): Promise<number> {
  let isSound = true;
  for (const name of CHECKED_NAMES) {
    const broken = await brokenRows(dataSource, name);
    isSound &&= broken.length === 0;
    say(
      `${broken.length === 0 ? 'ok    ' : 'BROKEN'} ${name}: ${CHECKED[name].says}${describeBroken(broken)}`,
    );
  }
  const live = isRedisNamed() ? await compareWithRedis(dataSource) : EXIT.done;
  return isSound ? live : EXIT.unsound;
}

function describeBroken(broken: readonly object[]): string {
  return broken.length === 0
    ? ''
    : `; ${counted(broken.length, 'row')} break it, e.g. ${JSON.stringify(broken[0])}`;
}

function compareWithRedis(dataSource: DataSource): Promise<number> {
  return withRedis(async (redis) => {
    try {
      return await compare(dataSource, redis);
    } catch (error) {
      if (!(error instanceof UnreadableBalance)) throw error;
      const shard = shardOf(error.accountId, (await readShards(dataSource)).length);
      say(
        `BROKEN ${LIVE_BALANCES.name}: ${error.message}. A control plane rewrites it within 5 minutes.\n  Fix if it stays: tollgate-ops epochs refill ${shard}`,
      );
      return EXIT.unsound;
    }
  });
}

async function compare(dataSource: DataSource, redis: RedisConnection): Promise<number> {
  const compared = await compareAtRest(dataSource, redis, {
    waitMs: QUIET_WITHIN_MS,
    onWait: (what) => report(`waiting: ${what}`),
  });
  if ('waiting' in compared) {
    say(`-      ${LIVE_BALANCES.name}: not compared, there are ${compared.waiting.join(', ')}`);
    return EXIT.unresting;
  }
  const { differences } = compared;
  say(
    `${differences.length === 0 ? 'ok    ' : 'BROKEN'} ${LIVE_BALANCES.name}: ${LIVE_BALANCES.says}${describeBroken(differences)}`,
  );
  return differences.length === 0 ? EXIT.done : EXIT.unsound;
}
