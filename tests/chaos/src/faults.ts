import { readdirSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tollgate } from '@tollgate/harness';
import { openRedis, redisReady } from '@tollgate/keyspace';
import type { Network } from './network.ts';

export const FAULT_KINDS = ['kill', 'pause', 'cut', 'aof', 'flush'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Stage {
  tollgate: Tollgate;
  network: Network;
  random: () => number;
}

export interface Fault {
  kind: FaultKind;
  /** What it hits; one fault at a time per victim. */
  victim: string;
  /** Applies the fault and mends what it broke. */
  strike: () => Promise<void>;
}

const DOWN_MAX_MS = 2_500;
const PAUSE_MAX_MS = 4_000;
const CUT_MAX_MS = 6_000;
const LONG_SHARE = 0.1;
const LONG_MS = 9_000;
/** About what Redis writes within its second between two fsyncs under this load. */
const AOF_CUT_MAX_BYTES = 48 * 1024;
const RESTARTS = 5;
const RESTART_PAUSE_MS = 1_000;

/** Draws the next fault of one of the kinds. */
export function drawFault(kinds: readonly FaultKind[], stage: Stage): Fault {
  const kind = pick(kinds, stage.random);
  switch (kind) {
    case 'kill': {
      const victim = pick(stage.tollgate.processNames, stage.random);
      const downMs = lasting(DOWN_MAX_MS, stage.random);
      return { kind, victim, strike: () => killAndRestart(stage.tollgate, victim, downMs) };
    }
    case 'pause': {
      const victim = pick(stage.tollgate.processNames, stage.random);
      const pauseMs = lasting(PAUSE_MAX_MS, stage.random);
      return { kind, victim, strike: () => pause(stage.tollgate, victim, pauseMs) };
    }
    case 'cut':
      return cutWay(stage);
    case 'aof': {
      const bytes = 1 + Math.floor(stage.random() * AOF_CUT_MAX_BYTES);
      return { kind, victim: 'redis', strike: () => cutAppendOnlyFile(stage.tollgate, bytes) };
    }
    case 'flush':
      return { kind, victim: 'redis', strike: () => flushAll(stage.tollgate) };
  }
}

function cutWay({ network, random }: Stage): Fault {
  const victim = pick(network.ways, random);
  const mode = random() < 0.5 ? 'reset' : 'silence';
  const cutMs = lasting(CUT_MAX_MS, random);
  const strike = async (): Promise<void> => {
    const way = network.way(victim);
    way.cut(mode);
    await delay(cutMs);
    way.heal();
  };
  return { kind: 'cut', victim, strike };
}

async function killAndRestart(tollgate: Tollgate, name: string, downMs: number): Promise<void> {
  await tollgate.kill(name, 'SIGKILL');
  await delay(downMs);
  await revive(tollgate, name);
}

async function pause(tollgate: Tollgate, name: string, pauseMs: number): Promise<void> {
  await tollgate.kill(name, 'SIGSTOP');
  await delay(pauseMs);
  await tollgate.kill(name, 'SIGCONT');
}

/** What a power cut leaves: the file ends anywhere, also inside a script's transaction. */
async function cutAppendOnlyFile(tollgate: Tollgate, bytes: number): Promise<void> {
  await tollgate.kill('redis', 'SIGKILL');
  const folder = path.join(tollgate.services.folder, 'redis', 'appendonlydir');
  const newest = readdirSync(folder).filter((name) => name.endsWith('.incr.aof')).map((name) => path.join(folder, name)).at(-1);
  if (newest) truncateSync(newest, Math.max(0, statSync(newest).size - bytes));
  await revive(tollgate, 'redis');
}

async function flushAll(tollgate: Tollgate): Promise<void> {
  const redis = openRedis(tollgate.redisUrl, { role: 'plain', name: 'chaos', onError: () => undefined });
  try {
    await redisReady(redis, 10_000);
    await redis.flushall();
  } finally {
    redis.disconnect();
  }
}

/** A start may fail while what it needs is struck too: tried again, and in the end it must work. */
export async function revive(tollgate: Tollgate, name: string): Promise<void> {
  for (let attempt = 1; !tollgate.isRunning(name); attempt += 1) {
    try {
      await tollgate.restart(name);
    } catch (error) {
      if (attempt >= RESTARTS) throw error;
      await delay(RESTART_PAUSE_MS);
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
