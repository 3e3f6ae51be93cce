import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import type { Identity, Role } from './caller.ts';

const row = z.object({ place: z.coerce.number(), role: z.enum(['admin', 'user']) });

/** Answers, for work that outlasts its request, whether its callers are still authorised. */
@Injectable()
export class Standing {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Returns for each caller, in order, whether the credential is still valid and the account still has at least the role that it had. All callers
   * share one query.
   */
  async of(callers: readonly Identity[]): Promise<boolean[]> {
    if (callers.length === 0) return [];
    const rows: unknown[] = await this.dataSource.query(
      `SELECT asked.place, u.role
       FROM unnest($1::int[], $2::int[], $3::uuid[], $4::int[]) WITH ORDINALITY AS asked(user_id, version, sid, token_id, place)
         JOIN users u ON u.id = asked.user_id AND u.status = 'active'
         LEFT JOIN sessions s ON s.sid = asked.sid AND s.ended_at IS NULL AND s.expires_at > now()
         LEFT JOIN access_tokens t ON t.id = asked.token_id AND t.revoked_at IS NULL AND t.expires_at > now()
       WHERE (asked.version IS NULL OR asked.version = u.session_version)
         AND (asked.sid IS NULL OR s.sid IS NOT NULL) AND (asked.token_id IS NULL OR t.id IS NOT NULL)`,
      [
        callers.map(({ userId }) => userId),
        callers.map(({ credential }) =>
          credential.kind === 'session' ? credential.version : null,
        ),
        callers.map(({ credential }) => (credential.kind === 'session' ? credential.sid : null)),
        callers.map(({ credential }) =>
          credential.kind === 'access_token' ? credential.id : null,
        ),
      ],
    );
    const roles = new Map<number, Role>(
      rows.map((raw) => row.parse(raw)).map(({ place, role }) => [place - 1, role]),
    );
    return callers.map(({ role }, place) => {
      const present = roles.get(place);
      return present === 'admin' || present === role;
    });
  }
}
