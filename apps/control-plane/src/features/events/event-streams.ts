import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Caller } from '../../platform/access/caller.ts';
import { Standing } from '../../platform/access/standing.ts';
import type { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import type { PositionedEvent } from './event-details.ts';
import { EventFeed } from './event-feed.ts';
import { formatPosition, parsePosition, type EventPosition } from './event-position.ts';
import { EventStore } from './event-store.sql.ts';
import type { StreamEvent } from './events.dto.ts';

/** The stream of a revoked session ends within a second, in which two checks fit. */
const VERIFY_MS = 400;
/** Proxies close a connection that stays silent for 30 s or more. */
const COMMENT_EVERY_MS = 15_000;
/** This allows a page in every tab of several browsers, and bounds the streams of one replica. */
const STREAMS_PER_ACCOUNT_MAX = 20;
const STREAMS_MAX = 1_000;
/** A reader with this many unread bytes is not reading; it may return with its last id. */
const UNREAD_BYTES_MAX = 1_048_576;
const RECONNECT_MS = 2_000;

interface Stream {
  caller: Caller;
  /** Is the account whose events are sent; undefined for all accounts. */
  userId: number | undefined;
  response: Response;
  onEvents: (events: readonly PositionedEvent[]) => void;
}

/** Streams server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html */
@Injectable()
export class EventStreams extends BackgroundService {
  private readonly streams = new Set<Stream>();
  private isClosing = false;
  /** Holds the loops that run while there are streams. */
  private readonly loops: BackgroundLoop[] = [this.loop];
  private readonly commenting = setInterval(() => this.comment(), COMMENT_EVERY_MS).unref();

  constructor(
    private readonly standing: Standing,
    private readonly store: EventStore,
    private readonly feed: EventFeed,
  ) {
    super({
      name: 'events',
      everyMs: VERIFY_MS,
      failing: 'sessions cannot be verified; streams of events end',
      stopsFirst: true,
    });
  }

  /** While the database cannot say who may still read, no one may read. */
  protected override onFailing(error: unknown): void | Promise<void> {
    for (const stream of this.streams) stream.response.end();
    return super.onFailing(error);
  }

  /** Open streams would keep the server from closing. Their readers continue at another replica with their last id. */
  override async beforeApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    clearInterval(this.commenting);
    for (const stream of this.streams) stream.response.end();
    await super.beforeApplicationShutdown();
  }

  /** Without streams there is nothing to verify. */
  override onApplicationBootstrap(): void {}

  /** Runs `loop` while there are streams. */
  accompany(loop: BackgroundLoop): void {
    this.loops.push(loop);
  }

  hasAdministrators(): boolean {
    return [...this.streams].some(({ caller }) => caller.role === 'admin');
  }

  /** Resolves when the stream is open. It lasts until the reader leaves or may no longer read. */
  async open(
    caller: Caller,
    userId: number | undefined,
    { request, response }: { request: Request; response: Response },
  ): Promise<void> {
    const start = await this.startAt(request.header('last-event-id'));
    // The check follows the last await, so that streams that open at once count each other.
    this.refuseTooMany(caller);
    // The response has emitted `close` already, so nothing would remove the stream.
    if (response.closed) return;
    const stream: Stream = {
      caller,
      userId,
      response,
      onEvents: (events) => this.send(stream, events),
    };
    response.on('close', () => this.close(stream));
    writeHead(response);
    if (request.method === 'HEAD') return void response.end();
    this.add(stream);
    const at = new Date().toISOString();
    write(response, { event: start.isReset ? 'reset' : 'ready', data: { at } }, start.position);
    // The server accepts connections until its modules have closed. A reader that connects meanwhile continues at another replica.
    if (this.isClosing) return void response.end();
    await this.feed
      .follow(start.position, stream.onEvents, { userId, isOver: () => isOver(response) })
      .catch((error: unknown) => {
        this.logger.warn(error, 'a stream of events could not begin');
        response.destroy();
      });
  }

  private refuseTooMany(caller: Caller): void {
    const own = [...this.streams].filter((stream) => stream.caller.userId === caller.userId);
    if (own.length >= STREAMS_PER_ACCOUNT_MAX || this.streams.size >= STREAMS_MAX)
      throw new Refusal('too_many_streams', { retryAfterSeconds: 10 });
  }

  private async startAt(
    lastId: string | undefined,
  ): Promise<{ position: EventPosition; isReset: boolean }> {
    if (lastId === undefined) return { position: await this.store.now(), isReset: false };
    const position = parsePosition(lastId);
    return position && (await this.store.holds(position))
      ? { position, isReset: false }
      : { position: await this.store.now(), isReset: true };
  }

  private send({ caller, userId, response }: Stream, events: readonly PositionedEvent[]): void {
    if (isOver(response)) return;
    for (const event of events) {
      const isTheirs = userId === undefined ? caller.role === 'admin' : event.userId === userId;
      if (isTheirs)
        write(response, caller.role === 'admin' ? event.content : event.forUser, event.position);
    }
    if (response.writableLength > UNREAD_BYTES_MAX) response.destroy();
  }

  private add(stream: Stream): void {
    this.streams.add(stream);
    if (this.streams.size === 1 && !this.isClosing) for (const loop of this.loops) loop.start();
  }

  private close(stream: Stream): void {
    this.streams.delete(stream);
    this.feed.stopFollowing(stream.onEvents);
    if (this.streams.size === 0) for (const loop of this.loops) void loop.stop();
  }

  protected async runOnce(): Promise<void> {
    const streams = [...this.streams];
    const standing = await this.standing.of(streams.map(({ caller }) => caller));
    for (const [index, stream] of streams.entries()) if (!standing[index]) end(stream);
  }

  private comment(): void {
    for (const { response } of this.streams)
      if (!isOver(response)) response.write(': still here\n\n');
  }
}

function writeHead(response: Response): void {
  response.status(200);
  response.setHeader('content-type', 'text/event-stream; charset=utf-8');
  // nginx would otherwise buffer the events.
  response.setHeader('x-accel-buffering', 'no');
  response.flushHeaders();
}

function write(response: Response, { event, data }: StreamEvent, position?: EventPosition): void {
  const id = position ? `id: ${formatPosition(position)}\n` : '';
  const retry = event === 'ready' || event === 'reset' ? `retry: ${RECONNECT_MS}\n` : '';
  response.write(`${retry}${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** Returns whether a stream has ended. A reader that does not read keeps its ended stream open, and a write to it would be an uncaught error. */
function isOver(response: Response): boolean {
  return response.writableEnded || response.closed;
}

function end({ response }: Stream): void {
  if (isOver(response)) return;
  write(response, { event: 'end', data: { at: new Date().toISOString() } });
  response.end();
}
