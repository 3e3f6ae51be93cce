import { answerOf } from '@tollgate/admin-client';
import { Option, type Command } from 'commander';
import { numberArgument, paging, type Paged } from '../arguments.ts';
import { connect, type Shared } from '../connection.ts';
import { show, table } from '../print.ts';

interface KeyListOptions extends Paged {
  user?: number;
  status?: 'enabled' | 'disabled';
}
interface NewKeyOptions extends Shared {
  user?: number;
  models?: string;
  rpm?: number;
  rph?: number;
  rpd?: number;
  expires?: string;
}

export function addCatalogueCommands(program: Command): void {
  const models = program.command('models').description('the catalogue');
  paging(models.command('list').description('list models')).action(
    async (_options: unknown, command: Command) => listModels(command.optsWithGlobals<Paged>()),
  );

  const keys = program.command('keys').description('API keys for /v1');
  paging(keys.command('list').description('list keys of all accounts'))
    .option('--user <id>', 'of this account only', numberArgument)
    .addOption(new Option('--status <status>').choices(['enabled', 'disabled']))
    .action(async (_options: unknown, command: Command) =>
      listKeys(command.optsWithGlobals<KeyListOptions>()),
    );
  keys
    .command('create <name>')
    .description('create a key and print it, once')
    .option('--user <id>', 'for this account instead of your own', numberArgument)
    .option('--models <names>', 'allowed models, separated by commas; * is a wildcard')
    .option('--rpm <count>', 'requests a minute', numberArgument)
    .option('--rph <count>', 'requests an hour', numberArgument)
    .option('--rpd <count>', 'requests a day', numberArgument)
    .option('--expires <time>', 'ISO 8601')
    .action(async (name: string, _options: unknown, command: Command) =>
      createKey(name, command.optsWithGlobals<NewKeyOptions>()),
    );
  keys
    .command('disable')
    .description('refuse a key from the next request on')
    .argument('<id>', 'of the key', numberArgument)
    .option('--drain', 'let running streams finish')
    .action(async (id: number, _options: unknown, command: Command) =>
      disableKey(id, command.optsWithGlobals<Shared & { drain?: boolean }>()),
    );
}

async function listModels(options: Paged): Promise<void> {
  const { page, pageSize, search } = options;
  const answer = await answerOf(
    connect(options).GET('/admin-api/models', {
      params: { query: { page, page_size: pageSize, ...(search && { q: search }) } },
    }),
  );
  show(options.json ?? false, answer, () =>
    table(
      ['id', 'name', 'kind', 'shelf', 'owned by', 'max output'],
      answer.data.map((model) => [
        model.id,
        model.name,
        model.kind,
        model.is_on_shelf ? 'on' : 'off',
        model.owned_by,
        model.max_output_tokens,
      ]),
    ),
  );
}

async function listKeys(options: KeyListOptions): Promise<void> {
  const { page, pageSize, search, user, status } = options;
  const query = {
    page,
    page_size: pageSize,
    ...(search && { q: search }),
    ...(user !== undefined && { user_id: user }),
    ...(status && { status }),
  };
  const answer = await answerOf(connect(options).GET('/admin-api/keys', { params: { query } }));
  const rows = answer.data.map((key) => [
    key.id,
    key.user_id,
    key.name,
    key.key_prefix,
    key.status,
    key.allowed_models || '*',
    key.rpm,
    key.rph,
    key.rpd,
    key.expires_at,
  ]);
  show(options.json ?? false, answer, () =>
    table(['id', 'user', 'name', 'key', 'status', 'models', 'rpm', 'rph', 'rpd', 'expires'], rows),
  );
}

async function createKey(name: string, options: NewKeyOptions): Promise<void> {
  const { user, models, rpm, rph, rpd, expires } = options;
  const limits = {
    ...(rpm !== undefined && { rpm }),
    ...(rph !== undefined && { rph }),
    ...(rpd !== undefined && { rpd }),
  };
  const body = {
    name,
    ...limits,
    ...(models !== undefined && { allowed_models: models }),
    ...(expires !== undefined && { expires_at: expires }),
    ...(user !== undefined && { user_id: user }),
  };
  const answer = await answerOf(connect(options).POST('/admin-api/keys', { body }));
  show(options.json ?? false, answer, () => `${answer.key}\n`);
  if (!options.json)
    process.stderr.write(`Key ${answer.id} of account ${answer.user_id}. It is not shown again.\n`);
}

async function disableKey(id: number, options: Shared & { drain?: boolean }): Promise<void> {
  const query = options.drain ? ({ drain: 'true' } as const) : {};
  const answer = await answerOf(
    connect(options).POST('/admin-api/keys/{id}/disable', { params: { path: { id }, query } }),
  );
  show(options.json ?? false, answer, () => `${answer.name} (${answer.id}) is ${answer.status}.\n`);
}
