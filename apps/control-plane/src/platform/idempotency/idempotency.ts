import { createHash } from 'node:crypto';
import { createParamDecorator, Injectable, type ExecutionContext } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request } from 'express';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { Transactions } from '../database/transactions.ts';
import { Housekeeping } from '../housekeeping/housekeeping.ts';
import { Refusal, invalidField } from '../http/refusal.ts';
import { canonicalJson } from './canonical-json.ts';

export const IDEMPOTENCY_HEADER = 'Idempotency-Key';

const storedRow = z.object({ request_hash: z.string(), response_body: z.unknown() });

export interface IdempotentRequest {
  /** Is the caller and not the account acted on: a key belongs to its sender. */
  userId: number;
  /** Is the fixed name of the route, for example `POST /wallet/recharge`. */
  route: string;
  /** Is the value of `@IdempotencyKey()`. Without a key every call counts. */
  key: string | undefined;
  /** Is everything that decides the effect: the parsed body and path ids. Two bodies are compared by hash. */
  body: unknown;
  /** Is the status that the route answers. It is stored with the answer. */
  status: number;
  /** Names the fields of the answer that are shown once. They are stored, and returned to a repeated call, as null. */
  secrets?: readonly string[];
}

/** Holds answers that repeat an earlier one, whose responses carry a header for it. */
const replayed = new WeakSet<object>();

export function isReplayed(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && replayed.has(answer);
}

/** Makes a repeated POST that moves money return the answer of the first one for 24 hours. */
@Injectable()
export class Idempotency {
  constructor(
    private readonly transactions: Transactions,
    housekeeping: Housekeeping,
  ) {
    housekeeping.add('forgetting old idempotency keys', () => this.forgetOld());
  }

  /**
   * Runs `work` in a transaction at most once per (user, route, key) and stores its answer in the same transaction. Throws idempotency_in_progress
   * (409) while another call holds the key, and idempotency_key_reused (422) for another body. It stores nothing when `work` throws.
   */
  async run<T extends object>(
    request: IdempotentRequest,
    work: (tx: EntityManager) => Promise<T>,
  ): Promise<T> {
    const { key } = request;
    if (key === undefined) return this.transactions.run(work);
    const requestHash = createHash('sha256').update(canonicalJson(request.body)).digest('hex');
    return this.transactions.run(async (tx) => {
      await this.lock(tx, request, key);
      const stored = await this.find(tx, request, key);
      if (stored && stored.request_hash !== requestHash)
        throw new Refusal('idempotency_key_reused');
      // This function stored the answer for this route, so it has the route's shape.
      if (stored) return markReplayed(stored.response_body as T);
      const answer = await work(tx);
      await tx.query(
        'INSERT INTO idempotency_keys (user_id, route, key, request_hash, response_status, response_body) VALUES ($1, $2, $3, $4, $5, $6)',
        [
          request.userId,
          request.route,
          key,
          requestHash,
          request.status,
          JSON.stringify(withoutSecrets(answer, request.secrets)),
        ],
      );
      return answer;
    });
  }

  private async forgetOld(): Promise<void> {
    await this.transactions.run((tx) =>
      tx.query("DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'"),
    );
  }

  /** Takes a lock until the transaction ends, so that the next holder also sees the stored answer. */
  private async lock(tx: EntityManager, request: IdempotentRequest, key: string): Promise<void> {
    const name = canonicalJson(['idempotency', request.userId, request.route, key]);
    const rows: { locked: boolean }[] = await tx.query(
      'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked',
      [name],
    );
    if (!rows[0]?.locked) throw new Refusal('idempotency_in_progress', { retryAfterSeconds: 1 });
  }

  private async find(tx: EntityManager, request: IdempotentRequest, key: string) {
    const params = [request.userId, request.route, key];
    await tx.query(
      "DELETE FROM idempotency_keys WHERE user_id = $1 AND route = $2 AND key = $3 AND created_at < now() - interval '24 hours'",
      params,
    );
    const rows: unknown[] = await tx.query(
      'SELECT request_hash, response_body FROM idempotency_keys WHERE user_id = $1 AND route = $2 AND key = $3',
      params,
    );
    return rows[0] === undefined ? undefined : storedRow.parse(rows[0]);
  }
}

function markReplayed<T extends object>(answer: T): T {
  replayed.add(answer);
  return answer;
}

function withoutSecrets(answer: object, secrets: readonly string[] = []): object {
  return { ...answer, ...Object.fromEntries(secrets.map((name) => [name, null])) };
}

/** `@IdempotencyKey() key: string | undefined` reads the optional header of 1 to 255 visible ASCII characters and documents it for the route. */
export const IdempotencyKey = createParamDecorator(
  (_: unknown, context: ExecutionContext): string | undefined => {
    const key = context.switchToHttp().getRequest<Request>().header('idempotency-key');
    if (key !== undefined && !/^[!-~]{1,255}$/.test(key))
      throw invalidField(IDEMPOTENCY_HEADER, 'must be 1 to 255 visible ASCII characters');
    return key;
  },
  [documentHeader],
);

function documentHeader(target: object, method: string | symbol | undefined): void {
  const descriptor =
    method === undefined ? undefined : Object.getOwnPropertyDescriptor(target, method);
  if (method === undefined || !descriptor) return;
  const schema = { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' } as const;
  ApiHeader({
    name: IDEMPOTENCY_HEADER,
    required: false,
    schema,
    description: 'Makes a retry within 24 hours answer what the first call answered',
  })(target, method, descriptor);
}
