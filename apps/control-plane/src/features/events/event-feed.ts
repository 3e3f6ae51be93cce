import { Injectable } from '@nestjs/common';
import { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { EventDetails, type PositionedEvent } from './event-details.ts';
import { isAfter, type EventPosition } from './event-position.ts';
import { EventStore } from './event-store.sql.ts';

const LOOK_MS = 250;
const RETRY_MS = 1_000;
const FORGET_MS = 60_000;
const PAGE = 500;

type Listener = (events: readonly PositionedEvent[]) => void;

/** Reads new events once for all streams of this replica, and only while there are streams. */
@Injectable()
export class EventFeed extends BackgroundService {
  /** Maps listeners to the position up to which each has read. */
  private readonly listeners = new Map<Listener, EventPosition>();
  /** Is the position up to which the feed has read for all listeners; undefined while there are none. */
  private position: EventPosition | undefined;
  private isClosing = false;
  private readonly looking = new BackgroundLoop({
    everyMs: LOOK_MS,
    retryMs: RETRY_MS,
    work: () => this.look(),
    onFailing: (error) => this.logger.warn(error, 'events cannot be read; trying again'),
  });
  constructor(
    private readonly store: EventStore,
    private readonly details: EventDetails,
  ) {
    super({
      name: 'events',
      everyMs: FORGET_MS,
      failing: 'old events cannot be deleted; trying again',
      stopsFirst: true,
    });
  }

  protected runOnce(): Promise<void> {
    return this.store.forgetOld();
  }

  override async beforeApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    await super.beforeApplicationShutdown();
    await this.looking.stop();
  }

  /**
   * Calls `listener` with every event after `from`, in order, until it is removed. Events between `from` and the feed's position are read for this
   * listener alone. `userId` filters that read; the listener itself filters what the feed delivers. A listener that `isOver` is not added.
   */
  async follow(
    from: EventPosition,
    listener: Listener,
    { userId, isOver }: { userId: number | undefined; isOver: () => boolean },
  ): Promise<void> {
    for (let at = from; ;) {
      const feedAt = this.position;
      const behind = await this.store.after(at, { limit: PAGE, userId });
      // A listener that left during the read would never be removed, and a closing feed would start again.
      if (this.isClosing || isOver()) return;
      const last = behind.at(-1);
      if (last) {
        listener(await this.details.describe(behind));
        at = { xid: last.xid, id: last.id };
        continue;
      }
      // The read returned all events up to the feed's former position. If the feed has moved on meanwhile, the rest is read too.
      if (feedAt && isAfter(feedAt, at)) at = feedAt;
      if (this.position && isAfter(this.position, at)) continue;
      return this.add(listener, at);
    }
  }

  stopFollowing(listener: Listener): void {
    this.listeners.delete(listener);
    if (this.listeners.size > 0) return;
    this.position = undefined;
    void this.looking.stop();
  }

  private add(listener: Listener, at: EventPosition): void {
    this.position ??= at;
    this.listeners.set(listener, at);
    this.looking.start();
  }

  private async look(): Promise<void> {
    const from = this.position;
    if (!from) return;
    const rows = await this.store.after(from, { limit: PAGE });
    const last = rows.at(-1);
    if (!last) return;
    const events = await this.details.describe(rows);
    // All listeners have left meanwhile. Newer listeners may be before `from`, so the next read serves them.
    if (this.position !== from) return;
    this.position = { xid: last.xid, id: last.id };
    for (const [listener, at] of this.listeners)
      listener(events.filter(({ position }) => isAfter(position, at)));
    if (rows.length === PAGE) this.looking.wakeWithin(0);
  }
}
