import { eventually } from '@tollgate/harness';
import type { ControlPlane } from './control-plane-under-test.ts';

/** Has the members of events that specs read; each kind has some of them. */
export type EventData = Partial<{
  balance: string;
  count: number;
  name: string;
  newest: { rid: string }[];
  state: string;
  status: string;
  subject: string;
  workers: { version: number; applied_at: string | null }[];
}>;

export interface ReceivedEvent {
  id: string;
  event: string;
  data: EventData;
}

export interface EventReader {
  status: number;
  events: ReceivedEvent[];
  /** Resolves with the first event that `matches`, of those there are or will be. */
  next: (matches: (event: ReceivedEvent) => boolean) => Promise<ReceivedEvent>;
  isOver: () => boolean;
  close: () => void;
}

/** Reads `GET /events` as a browser's EventSource does. */
export async function readEvents(
  plane: Pick<ControlPlane, 'url' | 'documented'>,
  { token, query = '', lastId }: { token: string; query?: string; lastId?: string },
): Promise<EventReader> {
  const leaving = new AbortController();
  const response = await fetch(`${plane.url}/admin-api/events${query}`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    },
    signal: leaving.signal,
  });
  plane.documented.check({
    method: 'GET',
    path: '/admin-api/events',
    status: response.status,
    contentType: response.headers.get('content-type') ?? '',
    body: response.ok ? undefined : await response.json(),
  });
  const events: ReceivedEvent[] = [];
  let isOver = !response.ok;
  const collect = async (): Promise<void> => {
    let text = '';
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString();
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      events.push(...blocks.flatMap((block) => parseBlock(block) ?? []));
    }
  };
  if (response.ok)
    void collect()
      .catch(() => undefined)
      .finally(() => (isOver = true));
  return {
    status: response.status,
    events,
    next: (matches) =>
      eventually(async () => {
        const found = events.find(matches);
        if (!found) throw new Error(`no such event among ${JSON.stringify(events)}`);
        return found;
      }),
    isOver: () => isOver,
    close: () => leaving.abort(),
  };
}

function parseBlock(block: string): ReceivedEvent | undefined {
  const fields = new Map(
    block.split('\n').map((line): [string, string] => {
      const [name = '', ...rest] = line.split(': ');
      return [name, rest.join(': ')];
    }),
  );
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return {
    id: fields.get('id') ?? '',
    event: fields.get('event') ?? '',
    data: JSON.parse(data),
  };
}
