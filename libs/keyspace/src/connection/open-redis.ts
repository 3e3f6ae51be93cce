import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { RedisConnection } from './redis-connection.ts';
import { parseRedisUrl } from './redis-url.ts';
import { SILENCE_MS, SilenceWatch } from './silence-watch.ts';

/** Opens connections to Redis; no other code does. What decides safety is passed, never left to a library's default. */
export type ConnectionRole =
  /** Serves admission and settlement: it is pipelined by the event loop's turn, and fails at once while Redis is away. */
  | 'hot'
  /** Serves all else that asks and is answered, BullMQ's producer too: it fails at once while Redis is away. */
  | 'plain'
  /** Sends one blocking call at a time and waits for Redis to return. */
  | 'blocking'
  /** Subscribes to channels, and subscribes again by itself. */
  | 'subscriber'
  /** Serves BullMQ's worker, which never gives a command up. */
  | 'queue_worker';

export interface OpenRedisOptions {
  role: ConnectionRole;
  /** Is shown in CLIENT LIST. */
  name: string;
  /** Is called on every connection error; reconnecting is repeated without limit. */
  onError: (error: Error) => void;
}

/** Is longer than any function runs, and short enough that a request is refused rather than left hanging. */
const COMMAND_TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_DELAY_MAX_MS = 1_000;
const RETRY_ON_MOVED_MS = 200;
const RETRY_ON_FAILOVER_MS = 200;
/** Is longer than any blocking call blocks: BullMQ's ten seconds are the longest. */
const BLOCKING_SILENCE_MS = 15_000;
/**
 * A socket that does not close is destroyed after this. ioredis keeps its timer, and with it the process, also when the socket had closed before; a Jest
 * worker that does not end within 500 ms is killed.
 */
const DISCONNECT_TIMEOUT_MS = 200;

/** Asks for RESP3 on the wire and for replies in the shapes that the rest of this library reads. */
type Options = RedisOptions & { replyMapping: 'legacy' };

export function openRedis(url: string, { role, name, onError }: OpenRedisOptions): RedisConnection {
  const connection = connect(url, role, name);
  connection.on('error', onError);
  breakWhenSilent(connection, waitsForAnswers(role) ? BLOCKING_SILENCE_MS : SILENCE_MS);
  return connection;
}

/**
 * A server that owes answers and sends nothing is taken for gone: the connection breaks, and what is asked after that fails at once instead of
 * waiting for its own timeout. A network that swallows packets does not say so. It replaces ioredis' `socketTimeout`, which takes a pause of this process for silence.
 */
function breakWhenSilent(connection: RedisConnection, silenceMs: number): void {
  const watch = (server: Redis): void => {
    server.on('connect', () => {
      const { stream } = server;
      const silence = new SilenceWatch({
        silenceMs,
        owes: () => server.commandQueue.length > 0,
        onSilent: () => stream.destroy(new Error('Redis owes answers and says nothing.')),
      });
      stream.on('data', () => silence.heard());
      stream.once('close', () => silence.end());
    });
  };
  if (!(connection instanceof Cluster)) return watch(connection);
  connection.nodes().forEach(watch);
  connection.on('+node', watch);
}

function waitsForAnswers(role: ConnectionRole): boolean {
  return role === 'blocking' || role === 'queue_worker' || role === 'subscriber';
}

/** Ends a connection. One that has ended is left alone: for a closed socket ioredis would keep the process for the whole time that a socket may take to close. */
export function closeRedis(connection: RedisConnection): void {
  if (connection.status !== 'end') connection.disconnect();
}

/** Returns true when a command sent now can be answered; of a cluster, by at least one primary. */
export function isRedisReachable(connection: RedisConnection): boolean {
  if (!(connection instanceof Cluster)) return connection.status === 'ready';
  // `wait`: nothing was asked of this primary yet, so it was not connected to.
  return (
    connection.status === 'ready' &&
    connection.nodes('master').some(({ status }) => status === 'ready' || status === 'wait')
  );
}

/** Matches ioredis' messages about a missing answer: the connection broke or did not exist, or the command timed out. */
const UNANSWERED =
  /^(?:Too many Cluster redirections\. Last error: (?:\w+: )?)?(?:Connection is closed|Command timed out|Command aborted due to connection close|Reached the max retries per request|Stream isn't writeable|Cluster isn't ready|Cluster is ended|Failed to refresh slots cache|None of startup nodes is available)/;

/** Returns true when a call failed because Redis did not answer. An error that it answered with, and a fault of our own, are no silence. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && UNANSWERED.test(error.message);
}

/**
 * Calls `listener` after every connection made, the first ones too, and for one that is made already; of a cluster, for each of its servers: what was
 * written there a moment before the last one broke may be lost. `awayMs` is how long this process was without that server; undefined after the first connection, when it
 * cannot know. Returns what ends it.
 */
export function onRedisReturn(
  connection: RedisConnection,
  listener: (awayMs: number | undefined) => void,
  monotonicNow = (): number => performance.now(),
): () => void {
  if (!(connection instanceof Cluster)) return watchServer(connection, listener, monotonicNow);
  const ends: (() => void)[] = [];
  const watch = (server: Redis): void =>
    void ends.push(watchServer(server, listener, monotonicNow));
  connection.nodes().forEach(watch);
  connection.on('+node', watch);
  return () => {
    connection.off('+node', watch);
    for (const end of ends) end();
  };
}

function watchServer(
  server: Redis,
  listener: (awayMs: number | undefined) => void,
  monotonicNow: () => number,
): () => void {
  let wasReady = false;
  let lostAtMs: number | undefined;
  const onReady = (): void => {
    listener(lostAtMs === undefined ? undefined : monotonicNow() - lostAtMs);
    wasReady = true;
    lostAtMs = undefined;
  };
  // Each failed attempt to connect emits this too.
  const onClose = (): void => {
    if (wasReady) lostAtMs ??= monotonicNow();
  };
  server.on('ready', onReady);
  server.on('close', onClose);
  // A connection that is older than its listener counts like one that follows it.
  let isWatched = true;
  if (server.status === 'ready') queueMicrotask(() => isWatched && onReady());
  return () => {
    isWatched = false;
    server.off('ready', onReady);
    server.off('close', onClose);
  };
}

/** Resolves when commands can be sent; for a cluster, when they can be sent to every primary that answers in time. Roles without an offline queue refuse commands before. */
export async function redisReady(connection: RedisConnection, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  if (connection.status !== 'ready') await becomesReady(connection, timeoutMs);
  if (!(connection instanceof Cluster)) return;
  // The first command to a primary connects to it: a second one, sent meanwhile, would be refused.
  const answers = Promise.allSettled(connection.nodes('master').map((primary) => primary.ping()));
  await Promise.race([
    answers,
    delay(Math.max(0, deadline - performance.now()), undefined, { ref: false }),
  ]);
}

async function becomesReady(connection: RedisConnection, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onReady = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      connection.off('ready', onReady);
      reject(new Error(`Redis was not ready within ${timeoutMs} ms`));
    }, timeoutMs);
    connection.once('ready', onReady);
  });
}

function connect(url: string, role: ConnectionRole, name: string): RedisConnection {
  const target = parseRedisUrl(url);
  const options: Options = { ...roleOptions(role), connectionName: name };
  switch (target.kind) {
    case 'single':
      return new Redis(
        target.url,
        target.tls?.cert === undefined ? options : { ...options, tls: target.tls },
      );
    case 'sentinel':
      return new Redis({
        ...options,
        ...target.credentials,
        sentinels: target.sentinels,
        name: target.master,
        sentinelRetryStrategy: reconnectDelayMs,
        // A sentinel that accepts and never answers must not be waited for: there are others.
        sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
        // There is no `failoverDetector`: when the notice of a failover meets a connection that is being made, ioredis 6.0.0 ends the client permanently. Sentinels break
        // all connections of a primary they demote, within ten seconds of its return; what it took meanwhile is sent again like a lost tail.
        ...(target.tls && {
          tls: target.tls,
          enableTLSForSentinelMode: true,
          sentinelTLS: target.tls,
        }),
      });
    case 'cluster':
      return new Cluster(
        target.nodes,
        clusterOptions({
          ...options,
          ...target.credentials,
          ...(target.tls && { tls: target.tls }),
        }),
      );
  }
}

function roleOptions(role: ConnectionRole): Options {
  const waits = waitsForAnswers(role);
  return {
    replyMapping: 'legacy',
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    retryStrategy: reconnectDelayMs,
    enableReadyCheck: true,
    enableOfflineQueue: waits,
    enableAutoPipelining: role === 'hot',
    // 0 fails what was sent the moment the connection breaks: it may have run, and its sender decides whether to repeat it.
    // BullMQ insists on null, and a blocking call is simply made again.
    maxRetriesPerRequest: waits ? null : 0,
    autoResendUnfulfilledCommands: waits,
    autoResubscribe: true,
    // After a failover the old primary refuses writes: leave it.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...(waits ? {} : { commandTimeout: COMMAND_TIMEOUT_MS }),
  };
}

function clusterOptions(redisOptions: Options): ClusterOptions & { redisOptions: Options } {
  const { enableOfflineQueue: waits = true, enableAutoPipelining = false } = redisOptions;
  return {
    redisOptions,
    enableOfflineQueue: waits,
    enableAutoPipelining,
    // A check that fails leaves the promise of `connect` open (ioredis 6.0.0), and BullMQ's worker waits for it: it would take no job again. It fails when the
    // server that it asks is away, or sees no majority. A call that is made meanwhile is repeated until it is served.
    enableReadyCheck: !waits,
    clusterRetryStrategy: reconnectDelayMs,
    // A primary that returns is connected to at once, not with the next command: the listener for its return has writes to replay. This does not apply where commands wait: a server that loses its slots between two attempts to connect would take those that wait for it along, without an answer (ioredis 6.0.0). Without attempts they are sent to the owner of the slot.
    clusterNodeRetryStrategy: waits ? null : reconnectDelayMs,
    scaleReads: 'master',
    // Slots move on failover: notice within seconds even when no MOVED answer says so.
    slotsRefreshInterval: 5_000,
    slotsRefreshTimeout: waits ? 2_000 : 1_000,
    retryDelayOnFailover: RETRY_ON_FAILOVER_MS,
    // Each repetition waits until the slots were read again, which silent servers delay. A role that refuses while Redis is away repeats a call once, which is enough for a slot that moved.
    maxRedirections: waits ? Infinity : 1,
    // Two servers that name each other are not asked without a pause.
    retryDelayOnMoved: waits ? RETRY_ON_MOVED_MS : 0,
  };
}

function reconnectDelayMs(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), RECONNECT_DELAY_MAX_MS);
}
