import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { LiveStateService } from '../live-state/live-state.service.ts';

/** Has keys written to Redis again, because a limit changed that is not in their own rows. */
@Injectable()
export class KeyRevisions {
  constructor(private readonly liveState: LiveStateService) {}

  /** Keys of the accounts. Live records of deleted keys are kept for two days and compared with their rows until then. */
  async raise(tx: EntityManager, userIds: readonly number[]): Promise<void> {
    const [rows]: [{ id: number }[], number] = await tx.query(
      `UPDATE api_keys SET revision = revision + 1 WHERE user_id = ANY($1::int[])
         AND (status <> 'deleted' OR deleted_at > now() - interval '3 days') RETURNING id`,
      [userIds],
    );
    await this.liveState.keysChanged(
      tx,
      rows.map(({ id }) => id),
    );
  }
}
