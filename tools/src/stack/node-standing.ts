import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import path from 'node:path';
import { z } from 'zod';
import { AdminClient, AdminRefusal } from '../admin-client.ts';

const PROBE_TIMEOUT_MS = 2_000;
/** A node without any decision gets one within two polls of a control plane that is ready. */
const REGISTRATION_MS = 5_000;
/** A decision that Redis kept from before is replaced by the first poll. */
const REMOVAL_MS = 1_000;
const OUTSIDE_MS: Readonly<Record<string, number>> = {
  unregistered: REGISTRATION_MS,
  removed: REMOVAL_MS,
};

/** Says whether a node serves, and if not, what an administrator decided about it. */
export type Standing = 'serving' | 'stopped' | 'disabled' | 'deleted';

const readiness = z.object({ ready: z.boolean(), state: z.string() });

/**
 * Waits for a decision about a node rather than for traffic: a node that an administrator stopped, disabled or deleted
 * answers 503 permanently and must not hold up the start.
 */
export class NodeStanding {
  readonly #url: string;
  readonly #now: () => number;
  #outsideSinceMs: number | null = null;

  constructor(url: string, now: () => number = Date.now) {
    this.#url = url;
    this.#now = now;
  }

  /** Reads the standing; it is `null` while the node starts. `canRegister` is true when the control plane is ready, so that an unregistered node is a deleted one after a while. */
  async read(canRegister: boolean): Promise<Standing | null> {
    const answer = await fetchReadiness(`${this.#url}/readyz`);
    const decision = decisionIn(answer);
    if (decision !== 'deleted' || !canRegister) {
      this.#outsideSinceMs = null;
      return decision === 'deleted' ? null : decision;
    }
    const waitMs = OUTSIDE_MS[answer?.state ?? ''] ?? REGISTRATION_MS;
    this.#outsideSinceMs ??= this.#now();
    return this.#now() - this.#outsideSinceMs >= waitMs ? 'deleted' : null;
  }
}

/** Returns the name of the node with this index, from 0. */
export const nodeName = (index: number): string => `node-${index + 1}`;

/** Returns the present state of an installation's nodes; a node that starts or does not answer is not among them. */
export async function readStandings(
  urls: readonly string[],
): Promise<ReadonlyMap<string, Standing>> {
  const standings = await Promise.all(
    urls.map(async (url, index) => [nodeName(index), await readStanding(url)] as const),
  );
  return new Map(standings.flatMap(([name, standing]) => (standing ? [[name, standing]] : [])));
}

async function readStanding(url: string): Promise<Standing | null> {
  return decisionIn(await fetchReadiness(`${url}/readyz`));
}

/** Returns the decision in an answer; `null` while the node starts or does not answer. At a start, a node that is unregistered may still register itself. */
function decisionIn(answer: z.infer<typeof readiness> | null): Standing | null {
  if (answer === null) return null;
  if (answer.ready) return 'serving';
  if (answer.state === 'stopped' || answer.state === 'disabled') return answer.state;
  return OUTSIDE_MS[answer.state] === undefined ? null : 'deleted';
}

/** Signs in with the password that this checkout has stored. Works in its folder, with or without an earlier session. */
const signIn = (baseUrl: string): string =>
  `node -p 'require("./.tollgate/start.json").admin.password' | npx tollgate login admin --url ${baseUrl} --password-stdin`;

const REMEDIES: Readonly<
  Record<Exclude<Standing, 'serving' | 'deleted'>, (name: string) => string>
> = {
  disabled: (name) => `npx tollgate nodes toggle ${name} --enabled true`,
  stopped: (name) => `npx tollgate proxy start --node-id ${name}`,
};

/** Returns the text about nodes that do not serve: why, and the commands that undo it. It is empty when all serve. */
export function describeStandings(
  standings: ReadonlyMap<string, Standing>,
  baseUrl: string,
): string {
  const outside = [...standings]
    .filter(([, standing]) => standing !== 'serving')
    .toSorted(([one], [other]) => one.localeCompare(other));
  if (outside.length === 0) return '';
  const said = outside.map(
    ([name, standing]) => `${name} ${standing === 'deleted' ? 'was deleted' : `is ${standing}`}`,
  );
  const commands = outside.flatMap(([name, standing]) =>
    standing === 'disabled' || standing === 'stopped' ? [REMEDIES[standing](name)] : [],
  );
  if (commands.length > 0) commands.unshift(signIn(baseUrl));
  if (outside.some(([, standing]) => standing === 'deleted'))
    commands.push('npm stop && npm start -- --restore-nodes');
  const lines = commands.map((command) => `  ${command}\n`).join('');
  return `Not every node serves: ${said.join(', ')}. To undo that, paste in the folder of this checkout:\n\n${lines}`;
}

/** Returns the node's own credential, once an administrator registered it again; undefined while it uses the fleet's. */
export function nodeCredential(dataFolder: string): string | undefined {
  const file = credentialFile(dataFolder);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/** Registers the deleted nodes of this installation again and stores the credential each one gets. Only an administrator can do so, hence the login: the fleet's credential does not bring a deleted name back. */
export async function restoreNodes(
  controlPlaneUrl: string,
  admin: { username: string; password: string },
  folders: ReadonlyMap<string, string>,
): Promise<string[]> {
  const client = await new AdminClient(controlPlaneUrl).login(admin.username, admin.password);
  const registered = new Set((await client.list('/proxy-nodes')).map(({ name }) => name));
  const restored: string[] = [];
  for (const [name, dataFolder] of folders) {
    if (registered.has(name)) continue;
    const { credential } = await registerNode(client, name);
    const file = credentialFile(dataFolder);
    writeFileSync(file, `${credential}\n`, { mode: 0o600, flush: true });
    chmodSync(file, 0o600);
    restored.push(name);
  }
  return restored;
}

async function registerNode(client: AdminClient, name: string): Promise<{ credential: string }> {
  try {
    return z
      .object({ credential: z.string() })
      .parse(await client.call('POST', '/proxy-nodes', { name }));
  } catch (error) {
    if (error instanceof AdminRefusal)
      throw new Error(`${name} cannot be registered: ${error.message}`, { cause: error });
    throw error;
  }
}

function credentialFile(dataFolder: string): string {
  return path.join(dataFolder, 'credential');
}

/** Asks by bare node:http, as this runs many times a second while everything else is busy starting. */
function fetchReadiness(url: string): Promise<z.infer<typeof readiness> | null> {
  return new Promise((resolve) => {
    const probe = get(url, { agent: false, timeout: PROBE_TIMEOUT_MS }, (response) => {
      let text = '';
      response.on('data', (bytes: Buffer) => (text += String(bytes)));
      response.on('end', () => resolve(parseReadiness(text)));
      response.on('error', () => resolve(null));
    });
    probe.on('timeout', () => probe.destroy());
    probe.on('error', () => resolve(null));
  });
}

function parseReadiness(text: string): z.infer<typeof readiness> | null {
  try {
    return readiness.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
