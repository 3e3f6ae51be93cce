import {
  Inject,
  Injectable,
  StreamableFile,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { finalize, from, switchMap, tap, type Observable } from 'rxjs';
import { CONFIG, type Config } from '../../config.ts';
import { Refusal } from '../http/refusal.ts';
import { findCaller } from './caller.ts';

/** The requests of one account together use at most 1/SHARES of the PostgreSQL connections. */
const SHARES = 4;
const RUNNING_MIN = 2;
/** Equals the time for which a request waits for a connection. */
const WAIT_MS = 5_000;
const WAITING_MAX = 200;
const RETRY_SECONDS = 5;

interface Line {
  running: number;
  /** Each entry starts the next request in line. */
  readonly waiting: Set<() => void>;
}

/**
 * Limits how many requests of one account run at the same time. Requests of one customer that wait for each other's row locks hold PostgreSQL
 * connections meanwhile. The further requests wait in line without a connection, so that one account cannot block the interface for all others.
 */
@Injectable()
export class AccountTurns implements NestInterceptor {
  private readonly runningMax: number;
  private readonly lines = new Map<number, Line>();

  constructor(@Inject(CONFIG) config: Pick<Config, 'DATABASE_POOL_MAX'>) {
    this.runningMax = Math.max(RUNNING_MIN, Math.floor(config.DATABASE_POOL_MAX / SHARES));
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const caller = findCaller(http.getRequest<Request>());
    if (!caller || caller.role === 'admin') return next.handle();
    return from(this.enter(caller.userId)).pipe(
      switchMap((leave) => answerWithin(leave, next, http.getResponse<Response>())),
    );
  }

  /** Returns a function that ends the turn. Throws service_unavailable when the turn does not come within WAIT_MS. */
  private async enter(accountId: number): Promise<() => void> {
    const line = this.lines.get(accountId) ?? { running: 0, waiting: new Set() };
    this.lines.set(accountId, line);
    if (line.running >= this.runningMax) await turnIn(line);
    else line.running += 1;
    return () => {
      const [begin] = line.waiting;
      // A request that ends gives its place to the next one in line, so the count stays the same.
      if (begin) return begin();
      line.running -= 1;
      if (line.running === 0) this.lines.delete(accountId);
    };
  }
}

/** The turn of a download ends after its last byte, because its rows are read while it is sent. */
function answerWithin(
  leave: () => void,
  next: CallHandler,
  response: Response,
): Observable<unknown> {
  let isSending = false;
  const noteFile = (answer: unknown): void => {
    isSending = answer instanceof StreamableFile && !response.closed;
    if (isSending) response.once('close', leave);
  };
  return next.handle().pipe(
    tap(noteFile),
    finalize(() => {
      if (!isSending) leave();
    }),
  );
}

function turnIn({ waiting }: Line): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => {
      waiting.delete(begin);
      reject(new Refusal('service_unavailable', { retryAfterSeconds: RETRY_SECONDS }));
    };
    const timer = setTimeout(refuse, WAIT_MS);
    const begin = (): void => {
      clearTimeout(timer);
      waiting.delete(begin);
      resolve();
    };
    if (waiting.size >= WAITING_MAX) {
      clearTimeout(timer);
      return refuse();
    }
    waiting.add(begin);
  });
}
