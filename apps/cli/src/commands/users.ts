import { answerOf } from '@tollgate/admin-client';
import { Option, type Command } from 'commander';
import { connect, type Shared } from '../connection.ts';
import { numberArgument, paging, type Paged } from '../arguments.ts';
import { show, table } from '../print.ts';

interface ListOptions extends Paged {
  status?: 'pending' | 'active' | 'rejected' | 'frozen';
}

const MOVES = {
  approve: 'let a pending or rejected account in',
  reject: 'turn a pending account away',
  freeze: 'stop sessions and keys at once',
  unfreeze: 'let a frozen account act again',
} as const;

export function addUserCommands(program: Command): void {
  const users = program.command('users').description('accounts');
  paging(users.command('list').description('list accounts'))
    .addOption(new Option('--status <status>').choices(['pending', 'active', 'rejected', 'frozen']))
    .action(async (_options: unknown, command: Command) =>
      list(command.optsWithGlobals<ListOptions>()),
    );
  for (const [name, description] of Object.entries(MOVES)) {
    const move = name as keyof typeof MOVES;
    users
      .command(move)
      .description(description)
      .argument('<id>', 'of the account', numberArgument)
      .action(async (id: number, _options: unknown, command: Command) =>
        change(move, id, command.optsWithGlobals<Shared>()),
      );
  }
}

async function list(options: ListOptions): Promise<void> {
  const { status, page, pageSize, search } = options;
  const answer = await answerOf(
    connect(options).GET('/admin-api/users', {
      params: {
        query: {
          page,
          page_size: pageSize,
          ...(search && { q: search }),
          ...(status && { status }),
        },
      },
    }),
  );
  show(options.json ?? false, answer, () =>
    table(
      ['id', 'username', 'role', 'status', 'created'],
      answer.data.map((user) => [user.id, user.username, user.role, user.status, user.created_at]),
    ),
  );
}

async function change(move: keyof typeof MOVES, id: number, options: Shared): Promise<void> {
  const client = connect(options);
  const params = { params: { path: { id } } };
  const answer = await answerOf(client.POST(`/admin-api/users/{id}/${move}`, params));
  show(
    options.json ?? false,
    answer,
    () => `${answer.username} (${answer.id}) is ${answer.status}.\n`,
  );
}
