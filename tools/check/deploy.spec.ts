import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { configSchema as controlPlaneSchema } from '../../apps/control-plane/src/config.ts';
import { configSchema as proxyNodeSchema } from '../../apps/proxy-node/src/config.ts';
import { compose, named, nodes, read, root, services } from './compose-under-test.ts';

/** There is no container engine where this is built: what can be known without one is checked here. */
const dockerfile = read('deploy/Dockerfile');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-deploy-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the values as an operator's file would give them. */
function filledIn(environment: Record<string, string>): Record<string, string> {
  const secret = (name: string): string => createHash('sha256').update(name).digest('base64url');
  const value = (_: string, name: string, fallback: string | undefined): string =>
    fallback ?? secret(name);
  const filled = Object.entries(environment).map(([name, text]) => [
    name,
    text.replaceAll(/\$\{(\w+)(?::\?|:-([^}]*))\}/g, value),
  ]);
  return Object.fromEntries(filled.filter(([, text]) => text !== '')) as Record<string, string>;
}

test('the compose file runs the control plane, two nodes or more, PostgreSQL, Redis and a front door, each with a health check', () => {
  expect(Object.keys(compose.services)).toEqual(
    expect.arrayContaining([
      'control-plane',
      'node-1',
      'node-2',
      'front-door',
      'postgres',
      'redis',
    ]),
  );
  expect(services.filter(([, { healthcheck }]) => healthcheck.test.length < 2)).toEqual([]);
});

test('a node that an administrator disabled, stopped or deleted holds up no start: compose asks for life, the chart waits for no other pod', () => {
  for (const [, { healthcheck }] of nodes)
    expect(healthcheck.test).toEqual(['CMD', 'node', 'deploy/healthcheck.mjs']);
  expect(read('deploy/healthcheck.mjs')).toContain('/healthz');
  const chart = read('deploy/helm/tollgate/templates/proxy-node.yaml');
  expect(chart).toMatch(/^ {2}podManagementPolicy: Parallel$/m);
  expect(chart).toMatch(/^ *livenessProbe: \{ httpGet: \{ path: \/healthz,/m);
  expect(chart).toMatch(/^ *startupProbe: \{ httpGet: \{ path: \/healthz,/m);
  // The front door starts without waiting for nodes, so that the administrator can enable one.
  expect(named('front-door').depends_on).toEqual(['control-plane', 'node-1', 'node-2']);
});

test('a rolling update has room beside a node that is out of service: how many pods may be unready is a value, one unless it is given', () => {
  expect(read('deploy/helm/tollgate/templates/proxy-node.yaml')).toContain(
    'rollingUpdate: { partition: 0, maxUnavailable: {{ add .Values.proxyNode.maxUnavailable .Values.proxyNode.outOfService }} }',
  );
  const { proxyNode } = z
    .object({ proxyNode: z.object({ maxUnavailable: z.number() }) })
    .parse(parse(read('deploy/helm/tollgate/values.yaml')));
  expect(proxyNode.maxUnavailable).toBe(1);
  expect(read('docs/operations.md')).toMatch(/A node out of service .*`proxyNode\.outOfService`/);
});

test('builds each app from a target the Dockerfile has, whose command is an entry point the app has', () => {
  const built = services.flatMap(([, { build }]) => (build ? [build] : []));
  expect(built.length).toBeGreaterThanOrEqual(3);
  for (const { dockerfile: file, target } of built) {
    expect(existsSync(path.join(root, file))).toBe(true);
    const stage = dockerfile
      .split(/^(?=FROM )/m)
      .find(
        (text) => text.startsWith('FROM ') && text.split('\n', 1)[0]?.endsWith(` AS ${target}`),
      );
    expect(stage).toContain(`apps/${target}/dist/main.js`);
    expect(existsSync(path.join(root, 'apps', target, 'src', 'main.ts'))).toBe(true);
  }
});

test('gives each app the variables it requires, with values it accepts, and none that it does not know', () => {
  const apps = [
    ['control-plane', controlPlaneSchema],
    ...nodes.map(([name]) => [name, proxyNodeSchema] as const),
  ] as const;
  for (const [name, schema] of apps) {
    const { environment } = named(name);
    expect(Object.keys(environment).filter((variable) => !(variable in schema.shape))).toEqual([]);
    expect(schema.safeParse(filledIn(environment)).error?.issues ?? []).toEqual([]);
  }
});

test('gives every node a name and a volume of its own, and the front door all of them', () => {
  expect(new Set(nodes.map(([, { environment }]) => environment.NODE_NAME)).size).toBe(
    nodes.length,
  );
  expect(
    new Set(nodes.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(':')[0]))).size,
  ).toBe(nodes.length);
  const credentials = nodes.map(([, { environment }]) => environment.NODE_CREDENTIAL);
  expect(new Set(credentials).size).toBe(nodes.length);
  expect(credentials).not.toContain('${FLEET_CREDENTIAL:?}');
  expect(named('control-plane').environment.NODE_CREDENTIALS).toBe(
    nodes.map(([name, { environment }]) => `${name}=${environment.NODE_CREDENTIAL}`).join(','),
  );
  for (const [, { environment, volumes }] of nodes)
    expect(volumes.map((volume) => volume.split(':')[1])).toContain(environment.DATA_DIR);
  expect(named('front-door').environment.PROXY_ADDRESSES?.split(' ').sort()).toEqual(
    nodes.map(([name]) => `${name}:8080`).sort(),
  );
});

test('declares every volume and network it uses, and mounts only files that exist', () => {
  for (const [, { volumes, networks }] of services) {
    expect(networks.filter((name) => !(name in compose.networks))).toEqual([]);
    for (const source of volumes.map((volume) => volume.split(':')[0] as string)) {
      expect(
        source.startsWith('.') ? existsSync(path.join(root, source)) : source in compose.volumes,
      ).toBe(true);
    }
  }
});

test('no port and no network of the machine is hard-wired: each has a variable, its remedy is documented', () => {
  const published = services.flatMap(([, { ports }]) => ports);
  expect(published.length).toBeGreaterThan(0);
  const subnets = Object.values(compose.networks).flatMap(({ ipam }) =>
    ipam.config.map(({ subnet }) => subnet),
  );
  expect(subnets).toHaveLength(2);
  const chosen = [...published, ...subnets].map(
    (text) => /^\$\{(TOLLGATE_\w+):-[\d.]+\}[:.]/.exec(text)?.[1] ?? `hard-wired: ${text}`,
  );
  const remedies = /^## Install with Docker Compose$([^]*?)^## /m.exec(
    read('docs/operations.md'),
  )?.[1];
  for (const name of chosen) expect(remedies).toContain(`\`${name}\``);
  // Ports are the choice of one service alone; the ranges that proxies are believed from follow the networks.
  expect(new Set(published.map((text) => text.split(':-')[0])).size).toBe(published.length);
  expect(read('docker-compose.yml').match(/\d+\.\d+\.\d+\.\d+\/\d+/g)).toBeNull();
});

test('Redis of the compose file forgets nothing: append-only, never evicting, torn files cut before the start', () => {
  expect(named('redis').command).toEqual(['sh', '/start.sh']);
  const start = read('deploy/redis/start.sh');
  for (const setting of ['appendonly yes', 'maxmemory-policy noeviction', 'redis-check-aof --fix'])
    expect(start).toContain(setting);
});

test('Redis of the compose file has the users of every other installation, with the passwords the apps use', () => {
  const stub = path.join(folder, 'redis-server');
  writeFileSync(stub, `#!/bin/sh\ncat > '${folder}/redis.conf'\n`, { mode: 0o755 });
  const environment = filledIn(named('redis').environment);
  const start = (change: Record<string, string> = {}): string => {
    execFileSync('sh', [path.join(root, 'deploy/redis/start.sh')], {
      stdio: 'pipe',
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        USERS_FILE: path.join(root, 'deploy/redis/users.acl'),
        ...environment,
        ...change,
      },
    });
    return readFileSync(path.join(folder, 'redis.conf'), 'utf8');
  };
  const rules = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => line.startsWith('user '))
      .map((line) => line.replace(/>\S+/, '>'));
  const written = start();
  expect(rules(written)).toEqual(rules(read('deploy/redis/users.acl')));
  const apps = [named('control-plane'), ...nodes.map(([, node]) => node)];
  for (const { environment: app } of apps) {
    const { REDIS_URL = '', REDIS_QUEUE_URL = '' } = filledIn(app);
    for (const { username, password } of [new URL(REDIS_URL), new URL(REDIS_QUEUE_URL)])
      expect(written).toContain(`user ${username} on >${password} `);
  }
  expect(() => start({ REDIS_NODE_PASSWORD: 'x +@all' })).toThrow('REDIS_NODE_PASSWORD');
});

test('the front door streams without buffering', () => {
  expect(read('deploy/caddy/Caddyfile')).toContain('flush_interval -1');
});

test('the image of the control plane contains the console it serves', () => {
  expect(dockerfile).toMatch(/pnpm --filter @tollgate\/console build$/m);
  const pack = read('deploy/pack.sh');
  expect(pack).toContain('cp -R apps/console/dist/web "$target/apps/console/dist/web"');
  // After the folders of other apps are removed, or it would be among them.
  expect(pack.indexOf('apps/console/dist/web')).toBeGreaterThan(
    pack.indexOf('rm -rf "${target:?}/$folder"'),
  );
});

test('every image is pinned by version and digest, to the Node and pnpm that the bootstrap pins, and runs the apps as an unprivileged user', () => {
  const images = [
    ...services.filter(([, { build }]) => !build).map(([, { image }]) => image),
    ...[...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, image]) => image as string),
  ];
  for (const image of images)
    expect(image).toMatch(/:\d+\.\d+(\.\d+)?[\w.-]*@sha256:[0-9a-f]{64}$/);
  const bootstrap = read('tools/bootstrap.mjs');
  const pinned = (name: string): string | undefined =>
    new RegExp(`${name}_VERSION = '([\\d.]+)'`).exec(bootstrap)?.[1];
  expect(dockerfile).toContain(`FROM node:${pinned('NODE')}-`);
  expect(dockerfile).toContain(`pnpm@${pinned('PNPM')}`);
  expect(dockerfile).toMatch(/^USER node$/m);
});

test.each(['control-plane', 'proxy-node'] as const)(
  'the systemd unit of the %s starts an entry point that exists, with variables that it knows, as an unprivileged user',
  (app) => {
    const unit = read(`deploy/systemd/tollgate-${app === 'proxy-node' ? 'node@' : app}.service`);
    const started = [...unit.matchAll(/^Exec\w+=\S+ (\S+)/gm)].map(([, file = '']) => file);
    expect(started).toContain(`apps/${app}/dist/main.js`);
    for (const file of started)
      expect(
        existsSync(path.join(root, file.replace('/dist/', '/src/').replace(/js$/, 'ts'))),
      ).toBe(true);
    const schema = app === 'proxy-node' ? proxyNodeSchema : controlPlaneSchema;
    const variables = [...unit.matchAll(/^Environment=(.*)$/gm)]
      .flatMap(([, list = '']) => list.split(' '))
      .map((entry) => entry.split('=')[0] ?? '');
    expect(variables.filter((name) => name !== 'NODE_ENV' && !(name in schema.shape))).toEqual([]);
    expect(unit).toMatch(/^User=tollgate$/m);
    expect(unit).toMatch(/^CapabilityBoundingSet=$/m);
  },
);

test('the front door of compose defines its snippets before it uses them, as Caddy reads from the top', () => {
  const caddyfile = read('deploy/caddy/Caddyfile');
  for (const [, name] of caddyfile.matchAll(/^\s*import (\w+)$/gm))
    expect(caddyfile.indexOf(`(${name})`)).toBeLessThan(caddyfile.indexOf(`import ${name}`));
});

test('chart and images have the version of the packages', () => {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(read('package.json')));
  expect(parse(read('deploy/helm/tollgate/Chart.yaml'))).toMatchObject({
    version,
    appVersion: version,
  });
});

test('a shell can read every shell script', () => {
  for (const script of [
    'deploy/pack.sh',
    'deploy/build-image.sh',
    'deploy/redis/start.sh',
    '.ci/run',
  ]) {
    expect(() =>
      execFileSync(script === '.ci/run' ? 'bash' : 'sh', ['-n', path.join(root, script)]),
    ).not.toThrow();
  }
});
