import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { parseOutboundPolicy, type OutboundPolicy } from '@tollgate/contracts';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { CONFIG, type Config } from '../../config.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { guardedPost } from '../../platform/outbound/guarded-post.ts';
import { ListedAlertsService } from './listed-alerts.service.ts';

const LOOK_MS = 1_000;
const BATCH = 10;
/** 5 s, 10 s, 20 s ... at most an hour between two attempts: about a day in all. */
const FIRST_PAUSE_SECONDS = 5;
const PAUSE_SECONDS_MAX = 3_600;
const ATTEMPTS_MAX = 32;

const claimedRow = z.object({
  alert_id: z.string().transform(Number),
  event: z.enum(['raised', 'resolved']),
  attempts: z.number(),
});
type Claimed = z.output<typeof claimedRow>;

/**
 * Notifies the operator's own systems of alerts as they are raised and resolved: at least once, in JSON,
 * signed `x-tollgate-signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">`. Any 2xx ends a delivery.
 */
@Injectable()
export class AlertWebhook extends BackgroundService {
  private readonly policy: OutboundPolicy;
  constructor(
    private readonly dataSource: DataSource,
    private readonly alerts: ListedAlertsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super({
      name: 'alert-webhook',
      everyMs: LOOK_MS,
      failing: 'alerts cannot be delivered; trying again',
    });
    this.policy = parseOutboundPolicy(config.UPSTREAM_ALLOW_PRIVATE.join(','));
  }

  override onApplicationBootstrap(): void {
    if (this.config.ALERT_WEBHOOK_URL !== undefined) this.loop.start();
  }

  protected async runOnce(): Promise<void> {
    for (const claimed of await this.claim()) await this.deliver(claimed);
  }

  /** Taking a delivery already sets the time of its next attempt, so a killed replica loses none and two replicas rarely send the same. */
  private async claim(): Promise<Claimed[]> {
    const [rows]: [unknown[], number] = await this.dataSource.query(
      `UPDATE alert_deliveries SET attempts = attempts + 1, due_at = now() + least(${PAUSE_SECONDS_MAX}, ${FIRST_PAUSE_SECONDS} * 2 ^ least(attempts, 20)) * interval '1 second'
       WHERE (alert_id, event) IN (SELECT alert_id, event FROM alert_deliveries WHERE due_at <= now() ORDER BY created_at, event LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
       RETURNING alert_id, event, attempts`,
    );
    return rows
      .map((row) => claimedRow.parse(row))
      .toSorted((a, b) => a.alert_id - b.alert_id || a.event.localeCompare(b.event, 'en'));
  }

  private async deliver({ alert_id: alertId, event, attempts }: Claimed): Promise<void> {
    const problem = await this.send(alertId, event).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    );
    if (problem !== undefined && attempts < ATTEMPTS_MAX)
      return this.logger.debug(`alert ${alertId} (${event}) is not delivered yet: ${problem}`);
    if (problem !== undefined)
      this.logger.error(
        `alert ${alertId} (${event}) could not be delivered in ${attempts} attempts: ${problem}`,
      );
    await this.dataSource.query('DELETE FROM alert_deliveries WHERE alert_id = $1 AND event = $2', [
      alertId,
      event,
    ]);
  }

  /** Why it was not taken, or undefined. */
  private async send(alertId: number, event: Claimed['event']): Promise<string | undefined> {
    const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret } = this.config;
    const alert = await this.alerts.find(alertId);
    if (url === undefined || secret === undefined || !alert) return undefined;
    const body = JSON.stringify({ id: `${alertId}-${event}`, event: `alert.${event}`, alert });
    const seconds = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'tollgate',
      'x-tollgate-signature': `t=${seconds},v1=${signature}`,
    };
    const status = await guardedPost(new URL(url), { body, headers, policy: this.policy });
    return status >= 200 && status < 300 ? undefined : `it answered ${status}`;
  }
}
