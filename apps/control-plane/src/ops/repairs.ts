import type { RedisConnection } from '@tollgate/keyspace';
import { resetPassword } from '../features/auth/reset-password.ts';
import { runDeadLetterCommand } from '../features/usage/dead-letters/dead-letter-commands.ts';
import { rebuildTotals } from '../features/usage/rebuild-totals.sql.ts';
import { AccountsService } from '../features/users/accounts.service.ts';
import { User } from '../features/users/user.entity.ts';
import {
  EXIT,
  noArguments,
  onlyArgument,
  say,
  UsageError,
  type Call,
  type Command,
} from './command.ts';
import { withDatabase, withRedis } from './connections.ts';

export const resetPasswordCommand: Command = {
  synopsis: 'USERNAME',
  says: 'sets a new random password, prints it once and ends all sessions of the account',
  run: (call) => {
    const username = onlyArgument(call, 'the name of an account');
    return withDatabase(async (dataSource) => {
      const accounts = new AccountsService(dataSource.getRepository(User));
      if (call.isDryRun) {
        const isThere = await dataSource.getRepository(User).existsBy({ username });
        say(`There is ${isThere ? 'an' : 'no'} account ${JSON.stringify(username)}.`);
        return isThere ? EXIT.done : EXIT.failed;
      }
      const password = await resetPassword({ dataSource, accounts }, username);
      if (password === undefined)
        throw new UsageError(`There is no account ${JSON.stringify(username)}.`);
      say(`New password of ${username}: ${password}`);
      return EXIT.done;
    });
  },
};

export const rebuildTotalsCommand: Command = {
  says: 'recomputes the usage totals of all accounts from the roll-ups; booking waits until this is done',
  run: (call) => {
    noArguments(call);
    if (call.isDryRun) {
      say('It would recompute all usage totals. Booking would wait until that is done.');
      return Promise.resolve(EXIT.done);
    }
    return withDatabase(async (dataSource) => {
      const { hours, days } = await rebuildTotals(dataSource);
      say(
        `The totals were computed again from the roll-ups: ${hours} hourly and ${days} daily rows.`,
      );
      return EXIT.done;
    });
  },
};

export const DEAD_LETTER_COMMANDS: Readonly<Record<string, Command>> = {
  'dead-letters': deadLetters('dead-letters', {
    says: 'lists usage events that could not be booked, one JSON object a line; SHARDS as the control plane has it',
  }),
  'book-dead-letter': deadLetters('book-dead-letter', {
    synopsis: 'ID [FIELDS]',
    says: 'books one, with the fields of its payload that a JSON object replaces; --although-day-was-dropped books it although the retention has dropped its day and no record shows whether it was already charged. Needs REDIS_URL, REDIS_QUEUE_URL and SHARDS as the control plane has them: the balance is compared first',
  }),
  'dismiss-dead-letter': deadLetters('dismiss-dead-letter', {
    synopsis: 'ID NOTE',
    says: 'closes one without booking it',
  }),
};

function deadLetters(name: string, described: Omit<Command, 'run'>): Command {
  const run = ({ args, isDryRun, isConfirmed }: Call): Promise<number> => {
    if (isDryRun && name !== 'dead-letters') {
      say(`It would ${name.replaceAll('-', ' ')} ${args[0] ?? ''}.`);
      return Promise.resolve(EXIT.done);
    }
    return withDatabase(async (dataSource) => {
      const runOn = (redis: RedisConnection | null) =>
        runDeadLetterCommand(dataSource, redis, [name, ...args], { isConfirmed });
      const answers = await (name === 'book-dead-letter' ? withRedis(runOn) : runOn(null));
      if (!answers) throw new UsageError(`${name} takes ${described.synopsis ?? 'no arguments'}.`);
      for (const answer of answers) say(JSON.stringify(answer));
      return EXIT.done;
    });
  };
  return { ...described, run };
}
