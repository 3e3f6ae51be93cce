import { Injectable } from '@nestjs/common';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import type { KnownNode } from '../proxy-nodes/node-watch.ts';
import { EventStore } from './event-store.sql.ts';
import { EventStreams } from './event-streams.ts';
import type { NodeEvent } from './events.dto.ts';

const LOOK_MS = 200;
const RETRY_MS = 1_000;

/** Writes events for what nodes report, because nodes report to Redis and ids of events come from PostgreSQL. It runs only while an administrator reads. */
@Injectable()
export class NodeEvents extends BackgroundService {
  /** Holds the last event of this replica for each node, which saves a statement when nothing changed. */
  private readonly noted = new Map<number, string>();
  constructor(
    private readonly store: EventStore,
    private readonly registry: NodeRegistry,
    private readonly streams: EventStreams,
  ) {
    super({
      name: 'events',
      everyMs: LOOK_MS,
      retryMs: RETRY_MS,
      failing: 'nodes cannot be followed; trying again',
      stopsFirst: true,
    });
  }

  override onApplicationBootstrap(): void {
    this.streams.accompany(this.loop);
  }

  protected async runOnce(): Promise<void> {
    if (!this.streams.hasAdministrators()) return;
    const { nodes } = await this.registry.lookAgain();
    for (const node of nodes.values()) await this.note(node);
  }

  private async note(node: KnownNode): Promise<void> {
    const event = this.eventOf(node);
    const text = JSON.stringify(event);
    if (this.noted.get(node.id) === text) return;
    const workers = this.registry.watch.workersOf(node.name);
    const reportedAt = Math.max(0, ...workers.map(({ report }) => report.reported_at));
    await this.store.noteNode({ nodeId: node.id, reportedAt, text });
    this.noted.set(node.id, text);
  }

  private eventOf(node: KnownNode): NodeEvent {
    return {
      id: node.id,
      name: node.name,
      state: this.registry.watch.stateOf(node),
      workers: this.registry.watch.workersOf(node.name).map(({ report, isLive }) => ({
        worker: report.worker,
        instance: report.instance,
        state: isLive ? report.state : 'offline',
        version: report.version,
        applied_at: report.applied_at > 0 ? new Date(report.applied_at).toISOString() : null,
        refused: report.refused,
      })),
    };
  }
}
