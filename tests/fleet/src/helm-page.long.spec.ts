import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runOps, startServices, until, type Services } from '@tollgate/harness';
import { openRedis, redisReady } from '@tollgate/keyspace';
import { appProcess, deployTools, findFreePort, ROOT, type ManagedProcess } from '@tollgate/tools';
import { resourcesOf } from '../../../tools/src/deploy/rendered-chart.ts';
import { z } from 'zod';

/**
 * The page "Install on Kubernetes", followed: its command draws the Secrets, Helm renders the chart, and what the pods would get as environment and files
 * starts real processes here.
 */
const PAGE = /^## Install on Kubernetes$([^]*?)^## /m.exec(
  readFileSync(path.join(ROOT, 'docs/operations.md'), 'utf8'),
)?.[1];
const secretList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      stringData: z.record(z.string(), z.string()),
    }),
  ),
});
const variable = z.object({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .object({
      secretKeyRef: z
        .object({ name: z.string(), key: z.string(), optional: z.boolean().default(false) })
        .optional(),
    })
    .optional(),
});
const workload = z.looseObject({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z
    .looseObject({
      template: z.looseObject({
        spec: z.looseObject({ containers: z.array(z.looseObject({ env: z.array(variable) })) }),
      }),
    })
    .optional(),
});
type Environment = Record<string, string>;

let services: Services;
let secrets: ReadonlyMap<string, Environment>;
let objects: z.output<typeof workload>[];
let planeUrl: string;
const started: ManagedProcess[] = [];

beforeAll(async () => {
  services = await startServices();
  secrets = await drawnSecrets();
  objects = await renderedChart();
  await takeRedisUsers(secrets.get('tollgate-redis-users')?.['users.acl'] ?? '');
}, 120_000);
afterAll(async () => {
  await Promise.all(started.map((process) => process.stop()));
  await services?.stop();
}, 60_000);

async function drawnSecrets(): Promise<ReadonlyMap<string, Environment>> {
  expect(PAGE).toContain('tollgate-ops init kubernetes | kubectl create -f -');
  const servers = {
    DATABASE_ADMIN_URL: services.databaseUrl,
    REDIS_URL: `redis://${new URL(services.redisUrl).host}`,
  };
  const { status, out, err } = await runOps(servers, 'init', 'kubernetes');
  expect({ status, err }).toEqual({ status: 0, err: '' });
  return new Map(
    secretList
      .parse(JSON.parse(out))
      .items.map(({ metadata, stringData }) => [metadata.name, stringData]),
  );
}

async function renderedChart(): Promise<z.output<typeof workload>[]> {
  expect(PAGE).toContain('helm install tollgate deploy/helm/tollgate');
  const { helm } = await deployTools();
  const manifest = execFileSync(
    helm,
    ['template', 'tollgate', 'deploy/helm/tollgate', '--kube-version', '1.31.0'],
    { cwd: ROOT, encoding: 'utf8' },
  );
  return resourcesOf(manifest).flatMap((value) => workload.safeParse(value).data ?? []);
}

async function takeRedisUsers(acl: string): Promise<void> {
  const redis = openRedis(services.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  await redisReady(redis, 5_000);
  for (const line of acl.split('\n').filter((each) => each.startsWith('user '))) {
    const [, name = '', ...rules] = line.split(' ');
    await redis.acl('SETUSER', name, 'reset', ...rules);
  }
  redis.disconnect();
}

/** Returns what a kubelet gives the container; a required key that its Secret lacks would keep the pod from starting. */
function environmentOf(kind: string): Environment {
  const found = objects.find((object) => object.kind === kind);
  const variables = found?.spec?.template.spec.containers[0]?.env ?? [];
  expect(variables.length).toBeGreaterThan(0);
  const missing: string[] = [];
  const pairs = variables.flatMap(({ name, value, valueFrom }): [string, string][] => {
    const reference = valueFrom?.secretKeyRef;
    if (!reference) return value === undefined ? [] : [[name, value]];
    const secret = secrets.get(reference.name)?.[reference.key];
    if (secret === undefined && !reference.optional)
      missing.push(`${reference.name}/${reference.key}`);
    return secret === undefined ? [] : [[name, secret]];
  });
  expect(missing).toEqual([]);
  return Object.fromEntries(pairs);
}

async function startApp(
  app: 'control-plane' | 'proxy-node',
  name: string,
  env: Environment,
): Promise<{ url: string; process: ManagedProcess; ready: Promise<void> }> {
  const port = await findFreePort();
  const { PATH = '' } = process.env;
  const child = appProcess({
    name,
    app,
    port,
    folders: services.folders,
    env: { PATH, ...env },
    readyPath: '/healthz',
  });
  started.push(child);
  return { url: `http://127.0.0.1:${port}`, process: child, ready: child.start() };
}

async function startPod(pod: number, credentialOf: string) {
  const name = `tollgate-node-${pod}`;
  const data = path.join(services.folder, name);
  mkdirSync(data);
  const credential = path.join(data, 'node-credential');
  writeFileSync(credential, secrets.get('tollgate-node-credentials')?.[credentialOf] ?? '');
  const env = environmentOf('StatefulSet');
  expect(env).not.toHaveProperty('NODE_CREDENTIAL');
  return startApp('proxy-node', name, {
    ...env,
    NODE_NAME: name,
    NODE_CREDENTIAL_FILE: credential,
    DATA_DIR: data,
    CONTROL_PLANE_URL: planeUrl,
  });
}

const readiness = async (url: string): Promise<string> =>
  await (await fetch(`${url}/readyz`)).text();

test('the job of the chart migrates, and the control plane starts with what its pod gets', async () => {
  const { status, err } = await runOps(environmentOf('Job'), 'migrate');
  expect({ status, err: status === 0 ? '' : err }).toEqual({ status: 0, err: '' });
  const plane = await startApp('control-plane', 'control-plane', environmentOf('Deployment'));
  planeUrl = plane.url;
  await plane.ready;
  await until(
    'the control plane is ready',
    async () => (await fetch(`${planeUrl}/readyz`)).status === 200,
    30_000,
  );
}, 120_000);

test('every pod is ready with its own credential, and no pod has that of another', async () => {
  for (const pod of [0, 1]) {
    const node = await startPod(pod, `tollgate-node-${pod}`);
    await node.ready;
    await until(
      'the node is ready',
      async () => (await fetch(`${node.url}/readyz`)).status === 200,
      30_000,
    );
  }
  expect(new Set(Object.values(secrets.get('tollgate-node-credentials') ?? {})).size).toBe(12);
}, 120_000);

test('a pod with the credential of another says so as an error, with the remedy, and takes no requests', async () => {
  const node = await startPod(2, 'tollgate-node-0');
  await node.ready;
  await until('the node knows', async () =>
    (await readiness(node.url)).includes('wrong_credential'),
  );
  const line = node.process
    .readLog()
    .split('\n')
    .find((each) => each.includes('NODE_CREDENTIAL is not the credential'));
  expect(line).toMatch(
    /"level":"error".*tollgate-node-2.*Fix: .*tollgate-ops rotate node tollgate-node-2/,
  );
}, 60_000);
