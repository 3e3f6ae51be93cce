import { describe, expect, jest, test } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { API_DOCUMENT, type AdminClient } from '@tollgate/admin-client';
import { Command } from 'commander';
import { COLUMNS } from './columns.ts';
import { callOperation, parseValue } from './call-operation.ts';
import { addOperationCommands } from './commands/operations.ts';
import { addCompletionCommands, complete } from './commands/completion.ts';
import { idOf, withIds } from './ids-by-name.ts';
import { readOperations, type Field, type Operation } from './operations.ts';
import { csv, render } from './print.ts';

const operations = readOperations();

function program(): Command {
  const root = new Command('tollgate').option('--url <url>').exitOverride();
  addOperationCommands(root, operations);
  addCompletionCommands(root);
  return root;
}

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      { responses: Record<string, { content?: Record<string, { schema: Schema }> } | undefined> }
    >
  >;
  components: { schemas: Record<string, Schema> };
}

/** Returns every route of the document, whatever its method. */
function documented(): string[] {
  const { paths } = JSON.parse(readFileSync(API_DOCUMENT, 'utf8')) as {
    paths: Record<string, Record<string, { operationId?: string }>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => methods[method]?.operationId !== undefined)
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
}

test('every route of the interface has a command of its own', () => {
  const words = operations.map(({ group, verb }) => `${group} ${verb}`);
  expect(new Set(words).size).toBe(words.length);
  expect(words).toEqual(
    expect.arrayContaining([
      'users approve',
      'keys create',
      'nodes toggle',
      'subscriptions renew',
      'subscriptions lots',
      'wallet payments',
      'wallet payouts',
      'usage statistics',
    ]),
  );
  expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual(documented());
  const root = program();
  const missing = operations
    .filter(({ group, verb, isEventStream }) => {
      const command = root.commands.find((child) => child.name() === group);
      return !isEventStream && !command?.commands.some((child) => child.name() === verb);
    })
    .map(({ group, verb }) => `${group} ${verb}`);
  expect(missing).toEqual(['auth login', 'auth logout']);
});

test('every column of a table is a member of the rows that the interface sends', () => {
  const unknown = Object.entries(COLUMNS).flatMap(([words, columns]) => {
    const operation = operations.find(({ group, verb }) => `${group} ${verb}` === words);
    const members = operation ? rowMembers(operation) : [];
    return columns.filter((name) => !members.includes(name)).map((name) => `${words}: ${name}`);
  });
  expect(unknown).toEqual([]);
});

/** Returns the columns of the rows that the route answers with, as the document names them. */
function rowMembers({ method, path }: Operation): string[] {
  const { paths, components } = JSON.parse(readFileSync(API_DOCUMENT, 'utf8')) as Document;
  const answer = paths[path]?.[method.toLowerCase()]?.responses['200'];
  const schema = resolve(answer?.content?.['application/json']?.schema);
  const rows = resolve(schema?.properties?.['data'] ?? schema);
  return Object.keys(resolve(rows?.items)?.properties ?? {});

  function resolve(found: Schema | undefined): Schema | undefined {
    const name = found?.$ref?.split('/').at(-1);
    return name === undefined ? found : components.schemas[name];
  }
}

test('the list of features says what each one does', () => {
  const users = program().commands.find((child) => child.name() === 'users');
  expect(users?.description()).toMatch(/^create, list, .*approve/);
});

test('what cannot be undone asks first', () => {
  const asks = operations.filter(({ isDestructive }) => isDestructive);
  expect(asks.map(({ group, verb }) => `${group} ${verb}`)).toEqual(
    expect.arrayContaining(['users delete', 'subscriptions unsubscribe', 'snapshots rollback']),
  );
  expect(
    operations.filter(({ method, isDestructive }) => method === 'DELETE' && !isDestructive),
  ).toEqual([]);
});

describe('values', () => {
  const field = (change: Partial<Field>): Field => ({
    name: 'max_output_tokens',
    place: 'body',
    kind: 'integer',
    choices: [],
    isRequired: false,
    isNullable: false,
    ...change,
  });

  test('are sent in the type of the interface', () => {
    expect(parseValue(field({}), '12')).toBe(12);
    expect(parseValue(field({ kind: 'boolean' }), 'false')).toBe(false);
    expect(parseValue(field({ kind: 'json' }), '{"a":[1]}')).toEqual({ a: [1] });
    expect(parseValue(field({ isNullable: true }), 'null')).toBeNull();
    expect(parseValue(field({ kind: 'string' }), '0012.50')).toBe('0012.50');
  });

  test('of another type are refused by the name of their option', () => {
    expect(() => parseValue(field({}), '1.5')).toThrow(
      '--max-output-tokens must be a whole number',
    );
    expect(() => parseValue(field({ kind: 'boolean' }), 'yes')).toThrow('must be true or false');
    expect(() => parseValue(field({ kind: 'json' }), '{')).toThrow('is not JSON');
  });
});

test('an optional body is left out unless something of it was typed', async () => {
  const sent: { body?: unknown }[] = [];
  const request = (_method: string, _path: string, init: { body?: unknown }) => {
    sent.push(init);
    return Promise.resolve({ data: {}, response: new Response() });
  };
  const client = { request } as unknown as AdminClient;
  const call = async (words: string, fields: Record<string, string>): Promise<void> => {
    for (const operation of operations.filter(({ group, verb }) => `${group} ${verb}` === words))
      await callOperation(client, operation, { path: { id: '2' }, fields });
  };
  await call('nodes toggle', {});
  await call('nodes toggle', { enabled: 'false' });
  await call('keys create', {});
  expect(sent.map(({ body }) => body)).toEqual([undefined, { enabled: false }, {}]);
});

describe('completion', () => {
  test('also works in a shell that does not find the command: its script says where it is', () => {
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    program().parse(['completion', 'bash'], { from: 'user' });
    const script = String(written.mock.lastCall?.[0]);
    written.mockRestore();
    const type = execFileSync('/bin/bash', ['-c', `${script}\ntype -t tollgate _tollgate`], {
      env: { PATH: '/nowhere' },
      encoding: 'utf8',
    });
    expect(type).toBe('function\nfunction\n');
    expect(script).toContain(process.execPath);
  });

  test('offers features, their verbs, and options', () => {
    expect(complete(program(), ['us'])).toEqual(expect.arrayContaining(['users', 'usage']));
    expect(complete(program(), ['users', 'fr'])).toEqual(['freeze']);
    expect(complete(program(), ['routes', 'cre'])).toEqual(['create']);
    expect(complete(program(), ['keys', 'create', '--rp'])).toEqual(['--rpm', '--rph', '--rpd']);
  });

  test('offers nothing hidden and nothing unknown', () => {
    expect(complete(program(), ['__'])).toEqual([]);
    expect(complete(program(), ['zzz', ''])).toEqual(complete(program(), ['']));
  });
});

test('a verb that a feature does not have is named with those it has, not read as a word of its list', async () => {
  const say = (...words: string[]): Promise<unknown> =>
    program().parseAsync(words, { from: 'user' });
  await expect(say('users', 'lst')).rejects.toThrow(/users has no "lst"\.\n.*list, .*approve/);
  await expect(say('nodes', 'disable', '1')).rejects.toThrow('nodes has no "disable"');
  await expect(say('users', 'list', 'all')).rejects.toThrow('users list takes no "all"');
});

test('a switch needs the state that is meant: without it a script that runs twice would flip back', async () => {
  const say = (...words: string[]): Promise<unknown> =>
    program().parseAsync(words, { from: 'user' });
  await expect(say('nodes', 'toggle', '1')).rejects.toThrow(
    'nodes toggle needs the state that is meant.\n  Fix: add --enabled true or --enabled false.',
  );
  // A complete command goes to the server, and there is none here.
  await expect(
    say('nodes', 'toggle', '1', '--enabled', 'false', '--url', 'http://127.0.0.1:1'),
  ).rejects.not.toThrow('needs the state');
});

describe('a name in place of an id', () => {
  const asked: unknown[] = [];
  const pages = [
    { data: [{ id: 3, name: 'node-10' }], has_more: true },
    { data: [{ id: 7, name: 'node-1' }], has_more: false },
  ];
  const client = {
    GET: (path: string, { params }: { params: { query: { q: string; page: number } } }) => {
      asked.push([path, params.query]);
      const data = pages[params.query.page - 1] ?? { data: [], has_more: false };
      return Promise.resolve({ data, response: new Response() });
    },
  } as unknown as AdminClient;

  test('is looked up whole, however many names contain it', async () => {
    expect(await idOf(client, 'nodes', 'node-1')).toBe('7');
    expect(asked).toEqual([
      ['/admin-api/proxy-nodes', { q: 'node-1', page: 1, page_size: 100 }],
      ['/admin-api/proxy-nodes', { q: 'node-1', page: 2, page_size: 100 }],
    ]);
    expect(await withIds(client, { node_id: 'node-1', note: 'node-1' })).toEqual({
      node_id: '7',
      note: 'node-1',
    });
  });

  test('an id stays what it is, and a name that is none is refused with the list to look at', async () => {
    expect(await idOf(client, 'nodes', '12')).toBe('12');
    await expect(idOf(client, 'nodes', 'node-3')).rejects.toThrow(
      'There is no "node-3" among the nodes.\n  Fix: tollgate nodes list shows them.',
    );
  });
});

test('one object is shown with each value beside its name', () => {
  expect(render({ id: 1, workers: [{ worker: 0, state: 'online' }] }, 'table')).toBe(
    'FIELD    VALUE\nid       1\nworkers  [{"worker":0,"state":"online"}]\n',
  );
});

test('CSV quotes what needs it and disarms formulas', () => {
  expect(
    csv(
      ['name', 'n'],
      [
        ['=cmd|x', 1],
        ['a "b", c', -2],
      ],
    ),
  ).toBe('name,n\r\n\'=cmd|x,1\r\n"a ""b"", c",-2\r\n');
});

test('a name with controls of a terminal reaches it neither as CSV, nor as JSON, nor in a table', () => {
  const answer = { data: [{ name: 'a\u001b[31mb\u009b2J\u202ec\r' }] };
  const written = (['csv', 'json', 'table'] as const).map((format) => render(answer, format));
  for (const text of written) {
    for (const mark of ['\u001b', '\u009b', '\u202e']) expect(text).not.toContain(mark);
    expect(text).not.toMatch(/\r(?!\n)/);
  }
  expect(JSON.parse(written[1] ?? '')).toEqual(answer);
});

test('a reader that has seen enough ends the command without an error message', async () => {
  const program = fileURLToPath(new URL('../bin/tollgate.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (bytes) => (said += String(bytes)));
  const [status] = await once(child, 'close');
  expect({ status, said }).toEqual({ status: 0, said: '' });
});
