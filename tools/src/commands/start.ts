import { spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { STATE_FOLDER } from '../checkout.ts';
import { AdminClient } from '../admin-client.ts';
import { withLock } from '../process/checkout-lock.mjs';
import { restoreRecords } from '../process/lost-records.ts';
import { readLivePid, removePidFile, writePidFile } from '../process/pid-file.ts';
import { CHAT_MODEL, EMBEDDING_MODEL, seedDemo } from '../seed/demo.ts';
import { playFirstMinute, prepareFirstMinute } from '../seed/first-minute.ts';
import { printsHelp } from './options.ts';
import { describeStart } from '../stack/describe-start.ts';
import { loadSecrets, type Secrets } from '../stack/secrets.ts';
import { ADMIN_USERNAME } from '../stack/apps.ts';
import { runFolder, startStack, type Stack, type StackSettings } from '../stack/stack.ts';
import { readChangedLogins } from '../stack/stored-passwords.ts';
import { describeStandings, readStandings, type Standing } from '../stack/node-standing.ts';
import { Progress } from '../stack/progress.ts';
import { readStartFile, writeStartFile, type StartFile } from '../stack/start-file.ts';
import { postgresFolder } from '../stack/services.ts';
import { SUPERVISOR, SUPERVISOR_STOP } from '../process/supervisor.ts';

const DEMO_USERNAME = 'demo';
/** Is set in the background process of `--detach`, which reports over its IPC channel, to the file that its command writes. */
const BACKGROUND = 'TOLLGATE_BACKGROUND';
const OF_TERMINAL = 'of-terminal';
const RESTORE_NODES = '--restore-nodes';
const NO_TRAFFIC = '--no-traffic';
const NPM_STOP = '"npm stop"';
const LOG_TAIL_LINES = 30;

/** Runs `npm start [-- --detach]`: the whole product until a signal; with --detach it returns when the product is ready. */
export async function start(args: readonly string[]): Promise<number> {
  if (
    printsHelp(args, {
      command: 'npm start',
      options: ['--detach', RESTORE_NODES, NO_TRAFFIC],
      does: 'Runs everything until Ctrl-C; in the background with --detach. --restore-nodes registers deleted nodes again; --no-traffic: without the first minute of the demo.',
    })
  )
    return 0;
  if (args.includes('--detach')) return startInBackground(args);
  if (!(await becomeSupervisor())) return sayRunning(args);
  return superviseUntilSignal(prepareDemo, {
    restoresNodes: args.includes(RESTORE_NODES),
    playsFirstMinute: !args.includes(NO_TRAFFIC),
  });
}

/** Starts everything, calls `prepare`, prints its result, then waits for Ctrl-C or SIGTERM. */
export async function superviseUntilSignal(
  prepare: (stack: Stack, secrets: Secrets) => Promise<string>,
  {
    playsFirstMinute = false,
    ...options
  }: Pick<StackSettings, 'nodeOptions' | 'restoresNodes'> & { playsFirstMinute?: boolean } = {},
): Promise<number> {
  const progress = new Progress(process.env[BACKGROUND] ? background : process.stdout);
  let stack: Stack | undefined;
  let isStopping = false;
  let firstMinute: Promise<void> | undefined;
  const signalled = new Promise<void>((resolve) => {
    // Before there is a stack, the end of this process stops everything, because the watchdog sees it.
    const onSignal = (): void => (stack ? resolve() : process.exit(130));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  });
  try {
    const secrets = loadSecrets(STATE_FOLDER);
    const started = await startStack({ stateFolder: STATE_FOLDER, secrets, progress, ...options });
    stack = started;
    const isNew = readStartFile(STATE_FOLDER) === undefined;
    announce(await progress.step('Demo', () => prepare(started, secrets)));
    if (isNew && playsFirstMinute) firstMinute = playDemo(started, secrets, () => isStopping);
    await signalled;
    console.log('Stopping ...');
    return 0;
  } finally {
    isStopping = true;
    // The requests in flight end with the nodes, so the stop does not wait for them.
    void firstMinute;
    await stack?.stop();
    removePidFile(runFolder(STATE_FOLDER), SUPERVISOR, process.pid);
  }
}

/** Records this process as the one that runs this checkout; returns false when another one does. */
export function becomeSupervisor(): Promise<boolean> {
  const folder = runFolder(STATE_FOLDER);
  return withLock(path.join(STATE_FOLDER, 'start.lock'), async () => {
    restoreRecords(folder, [STATE_FOLDER, postgresFolder(STATE_FOLDER)]);
    if (readLivePid(folder, SUPERVISOR)) return false;
    writePidFile(folder, SUPERVISOR, process.pid, SUPERVISOR_STOP);
    return true;
  });
}

/** Fails when the caller asks for more than the running stack has, because only a start registers nodes again. */
async function sayRunning(args: readonly string[]): Promise<number> {
  const content = readStartFile(STATE_FOLDER);
  console.log(
    content
      ? `Tollgate is already running.\n${describeStart(content, NPM_STOP, { changed: await readChangedLogins(content) })}${notesOn(await readStandings(content.proxyUrls), content.baseUrl)}`
      : 'Tollgate is already starting in this checkout.',
  );
  if (!args.includes(RESTORE_NODES)) return 0;
  console.error(
    `${RESTORE_NODES} did nothing, as it is running.\n  Fix: npm stop, then npm start -- ${RESTORE_NODES}`,
  );
  return 1;
}

export async function prepareDemo(stack: Stack, secrets: Secrets): Promise<string> {
  const { baseUrl, adminUrl, proxyUrls, upstreamUrl } = stack;
  const user = { username: DEMO_USERNAME, password: secrets.userPassword };
  const admin = { username: ADMIN_USERNAME, password: secrets.adminPassword };
  // The key's secret is shown only once: a start file with one means that the demo was seeded.
  const apiKey =
    readStartFile(STATE_FOLDER)?.apiKey ??
    (await seedDemo(await new AdminClient(adminUrl).login(admin.username, admin.password), {
      user,
      upstreamUrl,
    }));
  const content: StartFile = {
    baseUrl,
    adminUrl,
    proxyUrls,
    admin,
    user,
    apiKey,
    chatModel: CHAT_MODEL,
    embeddingModel: EMBEDDING_MODEL,
    upstreamUrl,
  };
  writeStartFile(STATE_FOLDER, content);
  const background = process.env[BACKGROUND];
  const stop = background ? NPM_STOP : `Ctrl-C or ${NPM_STOP}`;
  const isTerminal = background ? background === OF_TERMINAL : process.stdout.isTTY;
  const changed = await readChangedLogins(content);
  return `${describeStart(content, stop, { isTerminal, changed })}${notesOn(stack.standings, baseUrl)}`;
}

const notesOn = (standings: ReadonlyMap<string, Standing>, baseUrl: string): string => {
  const notes = describeStandings(standings, baseUrl);
  return notes && `\n${notes}`;
};

/** Plays the demo after a first start only, so that its pages show use. Nothing depends on it. */
async function playDemo(
  { adminUrl, baseUrl, upstreamUrl }: Stack,
  secrets: Secrets,
  isStopping: () => boolean,
): Promise<void> {
  try {
    const admin = await new AdminClient(adminUrl).login(ADMIN_USERNAME, secrets.adminPassword);
    const demo = { admin, baseUrl, upstreamUrl, password: secrets.userPassword };
    await playFirstMinute(demo, await prepareFirstMinute(demo), isStopping);
  } catch (error) {
    if (!isStopping()) console.log(`The demo's first requests were cut short: ${String(error)}`);
  }
}

/** The background process logs its steps and reports them to the command that waits for it. */
const background = {
  write: (text: string): void => {
    process.stdout.write(text);
    if (process.connected) process.send?.({ progress: text } satisfies Report);
  },
};

/** Addresses and passwords go to the caller's terminal, never to the log of the background process. */
function announce(text: string): void {
  if (!process.env[BACKGROUND]) return console.log(text);
  console.log('Tollgate is ready; addresses and credentials are in .tollgate/start.json.');
  process.send?.({ ready: text } satisfies Report);
  process.disconnect?.();
}

type Report = { progress: string } | { ready: string };

async function startInBackground(args: readonly string[]): Promise<number> {
  if (readLivePid(runFolder(STATE_FOLDER), SUPERVISOR)) return sayRunning(args);
  const logs = path.join(STATE_FOLDER, 'logs');
  mkdirSync(logs, { recursive: true });
  const logFile = path.join(logs, 'supervisor.log');
  const log = openSync(logFile, 'w', 0o600);
  const command = ['start', ...args.filter((arg) => arg !== '--detach')];
  const child = spawn(
    process.execPath,
    [...process.execArgv, process.argv[1] as string, ...command],
    {
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
      env: { ...process.env, [BACKGROUND]: process.stdout.isTTY ? OF_TERMINAL : 'of-other-output' },
    },
  );
  const ready = await new Promise<string | undefined>((resolve) => {
    child.on('message', (message: Report) => {
      if ('ready' in message) resolve(message.ready);
      else process.stdout.write(message.progress);
    });
    child.once('exit', () => resolve(undefined));
  });
  child.unref();
  console.log(
    ready ??
      `Tollgate did not start. The end of ${logFile}:\n${readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n')}`,
  );
  if (ready !== undefined) console.log('It runs in the background.');
  return ready === undefined ? 1 : 0;
}
