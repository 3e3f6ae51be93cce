import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { findFreePort } from '../process/free-port.ts';
import {
  ManagedProcess,
  type ProcessFolders,
  type ProcessSpec,
} from '../process/managed-process.ts';

const READY_TIMEOUT_MS = 60_000;
const ESTABLISHED_TIMEOUT_MS = 20_000;
const POLL_MS = 100;
const STOP = { steps: [{ signal: 'SIGTERM', graceMs: 5_000 }], isLast: true } as const;
/** JSON is YAML, which this names. */
const SERVER_SIDE_APPLY = 'application/apply-patch+yaml';

const status = z.object({ message: z.string() });
const discovery = z.object({
  resources: z.array(z.object({ name: z.string(), kind: z.string(), namespaced: z.boolean() })),
});
const established = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
});

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}

/** Is a real Kubernetes API server over an etcd of its own, on this machine alone. Nothing runs in it: it judges what it is given. */
export class ApiServer {
  readonly #processes: ManagedProcess[];
  readonly #folder: string;
  readonly #port: number;
  readonly #token: string;
  readonly #kinds = new Map<string, z.output<typeof discovery>['resources']>();

  private constructor({ folder, port, token }: { folder: string; port: number; token: string }) {
    this.#processes = [];
    this.#folder = folder;
    this.#port = port;
    this.#token = token;
  }

  static async start(
    programs: { etcd: string; apiServer: string },
    folder: string,
  ): Promise<ApiServer> {
    mkdirSync(folder, { recursive: true });
    const [client, peer, port] = [await findFreePort(), await findFreePort(), await findFreePort()];
    const token = randomBytes(16).toString('hex');
    writeFileSync(path.join(folder, 'tokens.csv'), `${token},check,check,"system:masters"\n`, {
      mode: 0o600,
    });
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = path.join(folder, 'service-accounts.key');
    writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const etcd = `http://127.0.0.1:${client}`;
    const server = new ApiServer({ folder, port, token });
    const isReady = async (): Promise<boolean> =>
      (await server.send('GET', '/readyz').catch(() => null))?.status === 200;
    server.#processes.push(
      program(
        { name: 'etcd', command: programs.etcd, isReady: () => answers(`${etcd}/health`) },
        etcdArguments({ folder, client: etcd, peer: `http://127.0.0.1:${peer}` }),
        foldersIn(folder),
      ),
      program(
        { name: 'kube-apiserver', command: programs.apiServer, isReady },
        apiServerArguments({ folder, etcd, port, key }),
        foldersIn(folder),
      ),
    );
    try {
      for (const process of server.#processes) await process.start();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  /** Starts the controllers of this list (kube-controller-manager), which turn workloads into pods. */
  async startControllers(command: string, controllers: readonly string[]): Promise<void> {
    const kubeconfig = path.join(this.#folder, 'controllers.json');
    writeFileSync(kubeconfig, JSON.stringify(accessOf(this.#port, this.#token)), { mode: 0o600 });
    const manager = program(
      { name: 'kube-controller-manager', command, isReady: () => Promise.resolve(true) },
      [
        `--kubeconfig=${kubeconfig}`,
        `--controllers=${controllers.join(',')}`,
        '--leader-elect=false',
        '--secure-port=0',
      ],
      foldersIn(this.#folder),
    );
    this.#processes.push(manager);
    await manager.start();
  }

  async stop(): Promise<void> {
    for (const process of this.#processes.toReversed()) await process.stop();
  }

  /** Applies a document on the server with strict fields. Returns what the server objects to, its warnings among it. */
  async apply(
    manifest: Manifest,
    { namespace, isDryRun }: { namespace: string; isDryRun: boolean },
  ): Promise<string[]> {
    const query = `fieldManager=check&fieldValidation=Strict${isDryRun ? '&dryRun=All' : ''}`;
    const folder = await this.#folderOf(manifest, namespace);
    if (folder === null) return [`the server has no ${manifest.apiVersion} ${manifest.kind}`];
    const answer = await this.send('PATCH', `${folder}/${manifest.metadata.name}?${query}`, {
      type: SERVER_SIDE_APPLY,
      value: manifest,
    });
    const refusal = answer.status < 300 ? [] : [status.parse(JSON.parse(answer.body)).message];
    return [...refusal, ...answer.warnings];
  }

  /** Adds a kind that the server does not have by itself; resolves once it serves it. */
  async addKind(definition: Manifest): Promise<void> {
    const problems = await this.apply(definition, { namespace: 'default', isDryRun: false });
    if (problems.length > 0) throw new Error(problems.join('\n'));
    const address = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.metadata.name}`;
    for (const deadline = Date.now() + ESTABLISHED_TIMEOUT_MS; ; await delay(POLL_MS)) {
      const { body } = await this.send('GET', address);
      const conditions = established.safeParse(JSON.parse(body)).data?.status.conditions ?? [];
      if (conditions.some(({ type, status: is }) => type === 'Established' && is === 'True'))
        return;
      if (Date.now() > deadline)
        throw new Error(`${definition.metadata.name} was not established.`);
    }
  }

  /** Returns `/apis/apps/v1/namespaces/default/deployments`; null for a kind that the server does not know. */
  async #folderOf({ apiVersion, kind }: Manifest, namespace: string): Promise<string | null> {
    const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const known = this.#kinds.get(group) ?? (await this.#discover(group));
    const found = known.find((each) => each.kind === kind && !each.name.includes('/'));
    if (!found) return null;
    return found.namespaced
      ? `${group}/namespaces/${namespace}/${found.name}`
      : `${group}/${found.name}`;
  }

  async #discover(group: string): Promise<z.output<typeof discovery>['resources']> {
    const answer = await this.send('GET', group);
    if (answer.status !== 200) return [];
    const { resources } = discovery.parse(JSON.parse(answer.body));
    this.#kinds.set(group, resources);
    return resources;
  }

  /** Sends a call of Kubernetes' API, as JSON. */
  send(
    method: string,
    target: string,
    body?: { type: string; value: unknown },
  ): Promise<{ status: number; body: string; warnings: string[] }> {
    return new Promise((resolve, reject) => {
      const call = request(
        {
          host: '127.0.0.1',
          port: this.#port,
          method,
          path: target,
          // Its certificate is one that it made for itself a moment ago.
          rejectUnauthorized: false,
          headers: {
            authorization: `Bearer ${this.#token}`,
            ...(body && { 'content-type': body.type }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              body: Buffer.concat(chunks).toString('utf8'),
              warnings: warningsOf(response.headers['warning']),
            }),
          );
        },
      );
      call.on('error', reject);
      call.end(body && JSON.stringify(body.value));
    });
  }
}

function foldersIn(folder: string): ProcessFolders {
  return { run: path.join(folder, 'run'), logs: path.join(folder, 'logs') };
}

/** Writes a kubeconfig: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/. */
function accessOf(port: number, token: string): object {
  const cluster = { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'check', cluster }],
    users: [{ name: 'check', user: { token } }],
    contexts: [{ name: 'check', context: { cluster: 'check', user: 'check' } }],
    'current-context': 'check',
  };
}

function etcdArguments(to: { folder: string; client: string; peer: string }): string[] {
  return [
    `--data-dir=${path.join(to.folder, 'etcd')}`,
    `--listen-client-urls=${to.client}`,
    `--advertise-client-urls=${to.client}`,
    `--listen-peer-urls=${to.peer}`,
  ];
}

function apiServerArguments(to: {
  folder: string;
  etcd: string;
  port: number;
  key: string;
}): string[] {
  return [
    `--etcd-servers=${to.etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${to.port}`,
    `--cert-dir=${path.join(to.folder, 'certificates')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://kubernetes.invalid',
    `--service-account-key-file=${to.key}`,
    `--service-account-signing-key-file=${to.key}`,
    `--token-auth-file=${path.join(to.folder, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    // Its controller, which makes the accounts that pods name, is not here.
    '--disable-admission-plugins=ServiceAccount',
  ];
}

function program(
  spec: Pick<ProcessSpec, 'name' | 'command' | 'isReady'>,
  args: readonly string[],
  folders: ProcessFolders,
): ManagedProcess {
  const env = { PATH: process.env.PATH };
  return new ManagedProcess(
    { ...spec, args, env, stop: STOP, readyTimeoutMs: READY_TIMEOUT_MS },
    folders,
  );
}

/** Reads `299 - "text"`, several joined by commas (RFC 7234 section 5.5). */
function warningsOf(header: string | undefined): string[] {
  return [...(header ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text);
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
