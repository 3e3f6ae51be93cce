import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { read, sources } from './tracked-files.ts';
import { ROOT } from '../src/checkout.ts';
import { OF_NODES } from '../../libs/keyspace/test/past-the-stores.ts';

const LUA = path.join(ROOT, 'libs/keyspace/lua');
/** Names shared files of Lua that only functions of the control plane load. */
const NOT_OF_NODES = new Set(['records']);

test('a function of Redis calls only commands that the users who call it may run', () => {
  const shared = namesIn('shared');
  const nodes = [
    ...OF_NODES,
    ...shared.filter((name) => !NOT_OF_NODES.has(name)).map((name) => `shared/${name}`),
  ];
  const all = [...namesIn('.'), ...shared.map((name) => `shared/${name}`)];
  expect(forbidden('node', nodes)).toEqual([]);
  expect(forbidden('control-plane', all)).toEqual([]);
  expect(nodes.flatMap(commandsOf).length).toBeGreaterThan(20);
});

function forbidden(user: string, names: readonly string[]): string[] {
  const acl = readFileSync(path.join(ROOT, 'deploy/redis/users.acl'), 'utf8');
  const line = acl.split('\n').find((each) => each.startsWith(`user ${user} `)) ?? '';
  const allowed = new Set([...line.matchAll(/ \+(\S+)/g)].map(([, command]) => command));
  return names.flatMap((name) =>
    commandsOf(name)
      .filter((command) => !allowed.has(command))
      .map((command) => `${name}: ${command}`),
  );
}

function commandsOf(name: string): string[] {
  const text = readFileSync(path.join(LUA, `${name}.lua`), 'utf8');
  return [...text.matchAll(/redis\.p?call\('(\w+)'/g)].map(([, command = '']) =>
    command.toLowerCase(),
  );
}

function namesIn(folder: string): string[] {
  return readdirSync(path.join(LUA, folder))
    .filter((name) => name.endsWith('.lua'))
    .map((name) => name.slice(0, -'.lua'.length));
}

/** Matches the names under which code has a connection, and Redis' commands. A connection's own methods (`on`, `disconnect`) are none. */
const COMMAND =
  /\b(?:redis|connection)\s*\.\s*((?:p?ttl|p?expire\w*|[hlszx][a-z]{2,}|get|set|del|unlink|call|eval\w*|fcall\w*|keys|info|exists|publish|subscribe|pipeline|multi|incr\w*)(?=\())/gi;

function commandsIn(text: string): string[] {
  return [...text.matchAll(COMMAND)].map(([, command = '']) => command);
}

test('only keyspace sends commands to Redis: other code gets connections, and asks keyspace', () => {
  const files = sources.filter(
    (file) =>
      /^(apps|libs)\/[^/]+\/src\/.*\.ts$/.test(file) &&
      !/^libs\/keyspace\/|\/testing\/|under-test|\.spec\.ts$/.test(file),
  );
  expect(files.length).toBeGreaterThan(700);
  expect(files.flatMap((file) => commandsIn(read(file)).map((name) => `${file}: ${name}`))).toEqual(
    [],
  );
  const planted =
    "await redis.llen('{bull}:usage:wait'); this.connection.del(key); redis.disconnect();";
  expect(commandsIn(planted)).toEqual(['llen', 'del']);
});
