import { Injectable } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { Housekeeping } from '../../platform/housekeeping/housekeeping.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { REFUSALS } from '../../platform/http/refusals.ts';

const MINUTE_S = 60;
const DAY_S = 24 * 60 * MINUTE_S;

/** An attempt counts before the password is checked, so that parallel guesses count too. A correct password removes its own count. */
const LIMITS = {
  /** Limits guesses of one address at one name. It is strict, because it affects only the guesser. */
  pair: { attemptsMax: 10, seconds: 15 * MINUTE_S },
  /** Limits guesses of one address at many names. */
  address: { attemptsMax: 100, seconds: 15 * MINUTE_S },
  /**
   * Limits guesses of many addresses at one name. It does not apply to an address from which the owner signed in before, so that an attacker cannot
   * lock the owner out (security S40).
   */
  name: { attemptsMax: 100, seconds: 15 * MINUTE_S },
} as const;
const FAMILIAR_DAYS = 90;

const countRow = z.object({ attempts: z.number(), seconds_left: z.coerce.number() });

/** Counts sign-ins and registrations in PostgreSQL, so that all replicas share the counts, also while Redis is away. */
@Injectable()
export class Attempts {
  constructor(
    private readonly dataSource: DataSource,
    housekeeping: Housekeeping,
  ) {
    housekeeping.add('forgetting old attempts', () => this.forgetOld());
  }

  /** Throws rate_limited with Retry-After. A refused attempt does not count against the wider limits; otherwise one guesser could use them up for others. */
  async beforeSignIn({ username, address }: { username: string; address: string }): Promise<void> {
    const { pair, from, name, familiar } = subjectsOf(username, address);
    await this.count(pair, LIMITS.pair);
    await this.count(from, LIMITS.address);
    if (!(await this.isFamiliar(familiar))) await this.count(name, LIMITS.name);
  }

  async afterSignIn({ username, address }: { username: string; address: string }): Promise<void> {
    const { pair, from, name, familiar } = subjectsOf(username, address);
    await this.dataSource.query('DELETE FROM attempt_counters WHERE subject = $1', [pair]);
    await this.dataSource.query(
      'UPDATE attempt_counters SET attempts = attempts - 1 WHERE subject = ANY($1) AND attempts > 0',
      [[from, name]],
    );
    await this.dataSource.query(
      `INSERT INTO attempt_counters (subject, attempts, resets_at) VALUES ($1, 1, now() + make_interval(days => $2))
       ON CONFLICT (subject) DO UPDATE SET resets_at = excluded.resets_at`,
      [familiar, FAMILIAR_DAYS],
    );
  }

  /** Throws registration_limit with Retry-After when an address has registered enough accounts in a day. */
  async beforeRegistration(address: string, perDayMax: number): Promise<void> {
    await this.count(
      `registration:${network(address)}`,
      { attemptsMax: perDayMax, seconds: DAY_S },
      'registration_limit',
    );
  }

  private async forgetOld(): Promise<void> {
    await this.dataSource.query('DELETE FROM attempt_counters WHERE resets_at < now()');
  }

  private async count(
    subject: string,
    limit: { attemptsMax: number; seconds: number },
    code: 'rate_limited' | 'registration_limit' = 'rate_limited',
  ): Promise<void> {
    const rows: unknown[] = await this.dataSource.query(
      `INSERT INTO attempt_counters AS counter (subject, attempts, resets_at) VALUES ($1, 1, now() + make_interval(secs => $2))
       ON CONFLICT (subject) DO UPDATE SET
         attempts = CASE WHEN counter.resets_at <= now() THEN 1 ELSE counter.attempts + 1 END,
         resets_at = CASE WHEN counter.resets_at <= now() THEN excluded.resets_at ELSE counter.resets_at END
       RETURNING attempts, ceil(extract(epoch FROM resets_at - now())) AS seconds_left`,
      [subject, limit.seconds],
    );
    const { attempts, seconds_left } = countRow.parse(rows[0]);
    if (attempts <= limit.attemptsMax) return;
    const waitSeconds = Math.max(1, seconds_left);
    throw new Refusal(code, {
      detail: `${REFUSALS[code].title}; try again in ${waitSeconds} seconds`,
      retryAfterSeconds: waitSeconds,
    });
  }

  private async isFamiliar(subject: string): Promise<boolean> {
    const rows: unknown[] = await this.dataSource.query(
      'SELECT 1 FROM attempt_counters WHERE subject = $1 AND resets_at > now()',
      [subject],
    );
    return rows.length > 0;
  }
}

function subjectsOf(username: string, address: string) {
  const name = username.toLowerCase();
  const from = network(address);
  return {
    pair: JSON.stringify(['pair', name, from]),
    from: `address:${from}`,
    name: `name:${name}`,
    familiar: JSON.stringify(['familiar', name, from]),
  };
}

/** Returns the network that counts as one address: an IPv6 customer owns a whole /64. */
function network(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.split('%', 1)[0]}/64`).toString();
}
