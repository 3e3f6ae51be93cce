import { type Tollgate, letPass } from '@tollgate/harness';
import { truncateAppendOnlyFile } from './append-only-file.ts';
import type { Network } from './network.ts';
import type { NodeClocks } from './node-clocks.ts';
import type { RedisClock } from './redis-clock.ts';
import type { RedisServers } from './redis-servers.ts';

export const FAULT_KINDS = [
  'kill',
  'pause',
  'cut',
  'aof',
  'flush',
  'functions',
  'failover',
  'clock',
  'node-clock',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Stage {
  tollgate: Tollgate;
  network: Network;
  servers: RedisServers;
  /** Controls the clock of a Redis that was started with it. */
  clock: RedisClock | undefined;
  nodeClocks: NodeClocks;
  random: () => number;
}

export interface Fault {
  kind: FaultKind;
  /** Holds what it hits. */
  victim: string;
  /** Lists processes and ways, each under one fault at a time. */
  parts: readonly string[];
  /** Applies the fault and repairs what it broke. */
  strike: () => Promise<void>;
}

const DOWN_MAX_MS = 2_500;
const PAUSE_MAX_MS = 4_000;
const CUT_MAX_MS = 6_000;
const LONG_SHARE = 0.1;
const LONG_MS = 9_000;
/** Is about the number of bytes that Redis writes under this load within the second between two fsyncs. */
const AOF_CUT_MAX_BYTES = 48 * 1024;
/** Is the share of faults that hit all primaries of a cluster when they could hit one. */
const ALL_SHARE = 0.3;
const HOUR_S = 3_600;
const JUMPS_S = [HOUR_S, -HOUR_S, 24 * HOUR_S, -24 * HOUR_S];
const NODE_JUMPS_S = [-2, 2, -60, 60, -HOUR_S, HOUR_S];
const RESTARTS = 5;
const RESTART_PAUSE_MS = 1_000;

/** Draws the next fault of one of the kinds. */
export function drawFault(kinds: readonly FaultKind[], stage: Stage): Fault {
  const kind = pick(kinds, stage.random);
  switch (kind) {
    case 'kill': {
      const downMs = lasting(DOWN_MAX_MS, stage.random);
      return onProcess(kind, stage, (victim) => killAndRestart(stage, victim, downMs));
    }
    case 'pause': {
      const pauseMs = lasting(PAUSE_MAX_MS, stage.random);
      return onProcess(kind, stage, (victim) => pause(stage, victim, pauseMs));
    }
    case 'cut':
      return cutWay(stage);
    case 'aof': {
      const bytes = 1 + Math.floor(stage.random() * AOF_CUT_MAX_BYTES);
      return onPrimaries(kind, stage, { isAllPossible: false }, (victim) =>
        cutAppendOnlyFile(stage, victim, bytes),
      );
    }
    case 'flush':
      return onPrimaries(
        kind,
        stage,
        { isAllPossible: true },
        async (victim) => void (await stage.servers.ask(victim, 'FLUSHALL')),
      );
    case 'functions':
      return onPrimaries(kind, stage, { isAllPossible: true }, (victim) =>
        loseFunctions(stage, victim),
      );
    case 'failover':
      return onPrimaries(kind, stage, { isAllPossible: false }, (victim) =>
        failOver(stage, victim),
      );
    case 'clock':
      return jump(stage);
    case 'node-clock':
      return jumpOfNode(stage);
    default:
      return kind satisfies never;
  }
}

function onProcess(
  kind: FaultKind,
  { tollgate, servers, random }: Stage,
  strike: (victim: string) => Promise<void>,
): Fault {
  const victim = pick(tollgate.processNames, random);
  return { kind, victim, parts: servers.partsOf(victim), strike: () => strike(victim) };
}

/** Strikes one primary of a cluster, or all; of a replicated pair, whichever is primary when it happens. */
function onPrimaries(
  kind: FaultKind,
  { servers, random }: Stage,
  { isAllPossible }: { isAllPossible: boolean },
  strike: (victim: string) => Promise<void>,
): Fault {
  const isAll = servers.kind !== 'cluster' || (random() < ALL_SHARE && isAllPossible);
  const victim = pick(servers.names, random);
  if (!isAll) return { kind, victim, parts: [victim], strike: () => strike(victim) };
  return {
    kind,
    victim: 'redis',
    parts: servers.names,
    strike: async () => void (await Promise.all((await servers.primaries()).map(strike))),
  };
}

function cutWay({ network, random }: Stage): Fault {
  const victim = pick(network.ways, random);
  const mode = random() < 0.5 ? 'reset' : 'silence';
  const cutMs = lasting(CUT_MAX_MS, random);
  const strike = async (): Promise<void> => {
    const way = network.way(victim);
    way.cut(mode);
    await letPass(cutMs, 'the way stays cut');
    way.heal();
  };
  return { kind: 'cut', victim, parts: network.partsOf(victim), strike };
}

/** Its clock goes wrong for a while and is set right again. */
function jump({ clock, servers, random }: Stage): Fault {
  const offsetS = pick(JUMPS_S, random);
  const wrongMs = lasting(PAUSE_MAX_MS, random);
  const strike = async (): Promise<void> => {
    if (!clock) throw new Error('this Redis was not started with a clock that can be shifted');
    await clock.shift(servers, offsetS);
    await letPass(wrongMs, 'the clock stays wrong');
    await clock.shift(servers, 0);
  };
  return { kind: 'clock', victim: `redis by ${offsetS / HOUR_S} h`, parts: servers.names, strike };
}

/** The node may be struck otherwise meanwhile. */
function jumpOfNode({ nodeClocks, random }: Stage): Fault {
  const node = pick(nodeClocks.names, random);
  const offsetS = pick(NODE_JUMPS_S, random);
  const wrongMs = lasting(PAUSE_MAX_MS, random);
  const strike = async (): Promise<void> => {
    nodeClocks.shift(node, offsetS * 1_000);
    await letPass(wrongMs, 'the clock stays wrong');
    nodeClocks.shift(node, 0);
  };
  return { kind: 'node-clock', victim: node, parts: [`clock of ${node}`], strike };
}

async function killAndRestart(stage: Stage, name: string, downMs: number): Promise<void> {
  await stage.tollgate.kill(name, 'SIGKILL');
  await letPass(downMs, 'the process stays down');
  await repair(stage, name);
}

async function pause(stage: Stage, name: string, pauseMs: number): Promise<void> {
  await stage.tollgate.kill(name, 'SIGSTOP');
  await letPass(pauseMs, 'the process stays paused');
  await stage.tollgate.kill(name, 'SIGCONT');
  await repair(stage, name);
}

/** Cuts the file at any place, also inside a script's transaction, as a power cut does. */
async function cutAppendOnlyFile(stage: Stage, name: string, bytes: number): Promise<void> {
  await stage.tollgate.kill(name, 'SIGKILL');
  truncateAppendOnlyFile(stage.servers.folderOf(name), bytes);
  await repair(stage, name);
}

/** Loses our functions and BullMQ's: a caller of a missing one loads it again. */
async function loseFunctions({ servers }: Stage, name: string): Promise<void> {
  await servers.ask(name, 'FUNCTION', 'FLUSH');
  await servers.ask(name, 'SCRIPT', 'FLUSH');
}

/** Fails over to the replica and loses the data that the primary had not passed on. */
async function failOver(stage: Stage, primary: string): Promise<void> {
  await stage.tollgate.kill(primary, 'SIGKILL');
  await stage.servers.promoted(primary);
  await repair(stage, primary);
}

async function repair({ tollgate, servers }: Stage, name: string): Promise<void> {
  await revive(tollgate, name);
  if (servers.names.includes(name)) await servers.whole(name);
}

/** A start may fail while what it needs is struck too: tried again, and in the end it must work. */
export async function revive(tollgate: Tollgate, name: string): Promise<void> {
  for (let attempt = 1; !tollgate.isRunning(name); attempt += 1) {
    try {
      await tollgate.restart(name);
    } catch (error) {
      if (attempt >= RESTARTS) throw error;
      await letPass(RESTART_PAUSE_MS, 'what it needs may be down too');
    }
  }
}

function lasting(limitMs: number, random: () => number): number {
  return random() < LONG_SHARE ? LONG_MS : random() * limitMs;
}

function pick<T>(list: readonly T[], random: () => number): T {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}
