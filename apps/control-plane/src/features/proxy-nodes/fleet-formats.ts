import { randomUUID } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import {
  FORMATS,
  readFormatsOf,
  VERSION,
  writableFormats,
  type FormatNumbers,
} from '@tollgate/contracts';
import { FleetStore } from '@tollgate/keyspace';
import type { KnownNode } from './node-watch.ts';

/** A process of the control plane that has not said anything for this long is gone. It says something each second. */
const GONE_MS = 30_000;

/** Knows which formats may be written: those that every registered node and every running process of the control plane reads. */
@Injectable()
export class FleetFormats implements OnApplicationShutdown {
  private readonly instance = randomUUID();
  /** Holds the last report of each process, and when it was first seen here, by this process' monotonic clock. */
  private readonly seen = new Map<string, { reportedAt: number; seenAtMs: number }>();

  constructor(private readonly fleet: FleetStore) {}

  async announce(): Promise<void> {
    await this.fleet.writeControlPlane(this.instance, {
      software: `tollgate/${VERSION}`,
      reads: FORMATS,
      reported_at: Date.now(),
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.fleet.removeControlPlanes(this.instance).catch(() => undefined);
  }

  async writable(nodes: readonly Pick<KnownNode, 'abilities'>[]): Promise<FormatNumbers> {
    const planes = await this.fleet.listControlPlanes();
    const nowMs = performance.now();
    for (const instance of this.seen.keys()) if (!planes.has(instance)) this.seen.delete(instance);
    for (const [instance, report] of planes) {
      const reportedAt = report?.reported_at ?? 0;
      if (this.seen.get(instance)?.reportedAt !== reportedAt)
        this.seen.set(instance, { reportedAt, seenAtMs: nowMs });
    }
    const gone = [...planes.keys()].filter(
      (instance) => nowMs - (this.seen.get(instance)?.seenAtMs ?? nowMs) > GONE_MS,
    );
    for (const instance of gone) this.seen.delete(instance);
    await this.fleet.removeControlPlanes(...gone);
    return writableFormats([
      ...[...planes]
        .filter(([instance]) => !gone.includes(instance))
        .map(([, said]) => said?.reads ?? {}),
      ...nodes.map(({ abilities }) => readFormatsOf(abilities) ?? {}),
    ]);
  }
}
