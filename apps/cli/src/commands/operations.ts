import { Option, type Command } from 'commander';
import { z } from 'zod';
import { callOperation } from '../call-operation.ts';
import { COLUMNS } from '../columns.ts';
import { confirm } from '../confirm.ts';
import { connect, outputOf, serverUrl, type Shared } from '../connection.ts';
import { EXIT, UsageError } from '../failure.ts';
import { idOf, takesName, withIds } from '../ids-by-name.ts';
import { kebab, type Field, type Operation } from '../operations.ts';
import { render } from '../print.ts';

/** Maps frequent verbs to shorter names; the interface's own name works as well. */
const SHORT: Readonly<Record<string, string>> = {
  q: 'search',
  user_id: 'user',
  model_id: 'model',
  allowed_models: 'models',
  expires_at: 'expires',
};
/** Lists required body members that are typed without their name: `keys create ci`. */
const POSITIONAL = new Set(['name', 'username']);
const ALIASES: Readonly<Record<string, string>> = {
  nodes: 'proxy-nodes',
  tokens: 'access-tokens',
  routing: 'routes',
};
/** Decides from an answer whether all is well; if not, the exit status is 1. */
const IS_WELL: Readonly<Record<string, (answer: unknown) => boolean>> = {
  'nodes sync-all': isSynced,
  'nodes sync': isSynced,
  'proxy config-check': (answer) => z.object({ ok: z.boolean() }).parse(answer).ok,
};
/** Lists the commands that `tollgate login` and `logout` replace; these store the token. */
const ELSEWHERE = new Set(['auth login', 'auth logout']);
/** Lists answers whose one secret is shown once: only the secret goes to standard output, so that it can be piped. */
const SECRET_MEMBERS = ['key', 'token', 'credential', 'one_time_password'];

/** Adds every route of the interface as `tollgate <feature> <verb>`. */
export function addOperationCommands(program: Command, operations: readonly Operation[]): void {
  const groups = new Map<string, Command>();
  for (const operation of operations) {
    const words = `${operation.group} ${operation.verb}`;
    if (operation.isEventStream || ELSEWHERE.has(words)) continue;
    const group = groups.get(operation.group) ?? addGroup(program, operation.group);
    groups.set(operation.group, group);
    addCommand(group, operation);
  }
  // The list of groups shows the verbs of each.
  for (const group of groups.values()) group.description(verbsOf(group));
}

function addGroup(program: Command, name: string): Command {
  const group = program.command(name);
  return ALIASES[name] === undefined ? group : group.alias(ALIASES[name]);
}

function addCommand(group: Command, operation: Operation): void {
  // `tollgate users` lists the users.
  const command = group
    .command(operation.verb, { isDefault: operation.verb === 'list' })
    .description(operation.summary);
  const about = takesName(operation.group) ? ', or its name' : '';
  for (const name of operation.pathNames)
    command.argument(`<${name}>`, `of what it is about${about}`);
  const positional = positionalOf(operation);
  if (positional) command.argument(`[${positional.name}]`, `same as --${kebab(positional.name)}`);
  for (const field of operation.fields) addField(command, field, operation);
  if (operation.fields.some(({ place }) => place === 'body'))
    command.option('--body <json>', 'the whole body: JSON, @file, or - for standard input');
  if (operation.takesIdempotencyKey)
    command.option('--idempotency-key <key>', 'repeats with this key act once; random by default');
  if (operation.isDestructive) command.option('--yes', 'do not ask');
  // The group passes an unknown verb to its default command as an argument.
  if (operation.verb === 'list') command.allowExcessArguments();
  command.action(async (...passed: unknown[]) => {
    if (operation.verb === 'list') refuseWords(group, command);
    await run(operation, passed.slice(0, -2), command);
  });
}

function refuseWords(group: Command, command: Command): void {
  const [word] = command.args.slice(command.registeredArguments.length);
  if (word === undefined) return;
  throw new UsageError(
    group.args[0] === command.name()
      ? `${group.name()} ${command.name()} takes no "${word}".\n  Fix: add --help to see what it takes.`
      : `${group.name()} has no "${word}".\n  Fix: one of ${verbsOf(group)}; each has --help.`,
  );
}

function verbsOf(group: Command): string {
  return group.commands.map((verb) => verb.name()).join(', ');
}

function positionalOf({ method, fields }: Operation): Field | undefined {
  return method === 'POST'
    ? fields.find(({ name, isRequired }) => isRequired && POSITIONAL.has(name))
    : undefined;
}

function addField(command: Command, field: Field, operation: Operation): void {
  const isFlag = field.place === 'query' && field.choices.join() === 'true,false';
  const value = isFlag ? '' : ` <${placeholderOf(field)}>`;
  const text = [
    field.isRequired ? 'required' : '',
    field.isNullable ? 'null clears it' : '',
    isFlag || field.choices.length === 0 ? '' : `one of ${field.choices.join(', ')}`,
  ];
  command.addOption(
    new Option(`--${kebab(field.name)}${value}`, text.filter((part) => part !== '').join('; ')),
  );
  const short = shortOf(field, operation);
  if (short !== undefined) command.addOption(new Option(`--${short}${value}`).hideHelp());
}

function placeholderOf({ kind, choices }: Field): string {
  if (choices.length > 0) return 'choice';
  return {
    integer: 'number',
    number: 'number',
    boolean: 'true|false',
    string: 'text',
    json: 'json',
  }[kind];
}

interface OperationOptions extends Shared {
  body?: string;
  idempotencyKey?: string;
  yes?: boolean;
}

async function run(operation: Operation, passed: unknown[], command: Command): Promise<void> {
  const options = command.optsWithGlobals<OperationOptions & Record<string, unknown>>();
  const words = passed.map((word) => (typeof word === 'string' ? word : undefined));
  const path = Object.fromEntries(
    operation.pathNames.map((name, index) => [
      name,
      pathValue(operation, name, words[index] ?? ''),
    ]),
  );
  const positional = positionalOf(operation);
  const fields = Object.fromEntries(
    operation.fields.map((field) => [field.name, typedValue(field, operation, options)]),
  );
  const first = words[operation.pathNames.length];
  if (positional && first !== undefined) fields[positional.name] = first;
  if (operation.verb === 'toggle' && !isStateNamed(fields, options))
    throw new UsageError(
      `${operation.group} toggle needs the state that is meant.\n  Fix: add --enabled true or --enabled false.`,
    );
  const format = outputOf(options);
  const client = connect(options);
  if (operation.isDestructive)
    await confirm(questionOf(operation, path, serverUrl(options)), options.yes ?? false);
  const { id } = path;
  const answer = await callOperation(client, operation, {
    path: id === undefined ? path : { ...path, id: await idOf(client, operation.group, id) },
    fields: await withIds(client, fields),
    body: options.body,
    idempotencyKey: options.idempotencyKey,
    format: format === 'csv' && operation.hasCsv ? 'csv' : undefined,
  });
  print(operation, answer, format);
  const isWell = IS_WELL[`${operation.group} ${operation.verb}`];
  if (isWell && !isWell(answer)) process.exitCode = EXIT.notWell;
}

/** Returns whether the state is named. Without this field the interface toggles, which a script that runs twice does not intend. */
function isStateNamed(
  { enabled }: Readonly<Record<string, string | boolean | undefined>>,
  { body }: OperationOptions,
): boolean {
  return enabled !== undefined || body !== undefined;
}

function isSynced(answer: unknown): boolean {
  const { nodes } = z.object({ nodes: z.array(z.object({ outcome: z.string() })) }).parse(answer);
  return nodes.every(({ outcome }) => outcome === 'applied');
}

/** The question names the server, because the last login may be to another one than the user expects. */
function questionOf(
  { group, verb }: Operation,
  path: Readonly<Record<string, string>>,
  server: string,
): string {
  return `${[group, verb, ...Object.values(path)].join(' ')} at ${new URL(server).origin}: this cannot be undone. Continue?`;
}

/** Only ids go into the address; a name is replaced by its id first. */
function pathValue({ group }: Operation, name: string, word: string): string {
  if (name === 'id' && !takesName(group) && !/^\d{1,15}$/.test(word))
    throw new UsageError(`<${name}> must be a whole number.`);
  if (!/^[\w.:@-]{1,200}$/.test(word))
    throw new UsageError(`<${name}> has characters that an id cannot have.`);
  return word;
}

/** Returns no short form where another field has that name. */
function shortOf({ name }: Field, { fields }: Operation): string | undefined {
  const short = SHORT[name];
  return fields.some((field) => field.name === short) ? undefined : short;
}

function typedValue(
  field: Field,
  operation: Operation,
  options: Readonly<Record<string, unknown>>,
): string | boolean | undefined {
  const found = [field.name, shortOf(field, operation)]
    .filter((candidate) => candidate !== undefined)
    .map((candidate) => options[camel(candidate)])
    .find((value) => value !== undefined);
  return typeof found === 'string' || typeof found === 'boolean' ? found : undefined;
}

function camel(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function print(
  { group, verb }: Operation,
  answer: unknown,
  format: 'json' | 'table' | 'csv',
): void {
  if (format === 'table' && typeof answer === 'object' && answer !== null) {
    const secret = SECRET_MEMBERS.map((name) => (answer as Record<string, unknown>)[name]).find(
      (value) => typeof value === 'string',
    );
    if (typeof secret === 'string') {
      process.stderr.write('Shown once; it cannot be read again.\n');
      return void process.stdout.write(`${secret}\n`);
    }
  }
  const columns = format === 'table' ? COLUMNS[`${group} ${verb}`] : undefined;
  process.stdout.write(render(answer, format, columns));
}
