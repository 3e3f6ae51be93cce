import { afterEach } from '@jest/globals';
import { uuidv7 } from '../platform/http/visitor.ts';
import { AlertsService } from '../features/alerts/alerts.service.ts';
import { UsageWorker } from '../features/usage/ingest/usage-worker.ts';
import type { ControlPlane } from './control-plane-under-test.ts';
import { readEvents, type EventReader, type ReceivedEvent } from './event-stream-under-test.ts';
import { subscribedAccount, usageEvent, type EventParts } from './ledger-under-test.ts';
import { sharedControlPlane } from './shared-plane-under-test.ts';

export interface ReaderOptions {
  query?: string;
  lastId?: string;
  /** Is the URL of the replica; without it that of the shared control plane. */
  at?: string;
}

/** Offers the acts of the parts of `events.spec.ts` on the shared control plane. */
export interface EventsUnderTest {
  plane: ControlPlane;
  read: (token: string, options?: ReaderOptions) => Promise<EventReader>;
  subscribed: () => Promise<EventParts>;
  /** Books a request and answers its id. */
  book: (parts: EventParts, tokens?: number, rid?: string) => Promise<string>;
  raise: (subject: string) => Promise<unknown>;
}

const readers: EventReader[] = [];

/** Ends readers that a test opens with it; a part calls it at its top. */
export function closeReaders(): void {
  afterEach(() => {
    for (const reader of readers.splice(0)) reader.close();
  });
}

export async function eventsUnderTest(): Promise<EventsUnderTest> {
  const plane = await sharedControlPlane();
  return {
    plane,
    async read(token, { at = plane.url, ...rest } = {}) {
      const reader = await readEvents(
        { url: at, documented: plane.documented },
        { token, ...rest },
      );
      readers.push(reader);
      return reader;
    },
    subscribed: () => subscribedAccount(plane, 100_000),
    async book(parts, tokens = 10, rid = uuidv7(Date.now())) {
      await plane.app.get(UsageWorker).process([usageEvent(tokens, { ...parts, rid })]);
      return rid;
    },
    raise: (subject) =>
      plane.app.get(AlertsService, { strict: false }).raise(plane.dataSource.manager, {
        rule: 'low_balance',
        subject,
        message: `of ${subject}`,
      }),
  };
}

export const isReady = ({ event }: ReceivedEvent): boolean => event === 'ready';

/** Returns whether an event reports the request `rid` among the newest. */
export function isFor(rid: string): (event: ReceivedEvent) => boolean {
  return ({ event, data }) =>
    event === 'requests' && data.newest?.some((one) => one.rid === rid) === true;
}
