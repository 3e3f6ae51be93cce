import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { parseOutboundPolicy, type OutboundPolicy } from '@tollgate/contracts';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { guardedPost } from '../../platform/outbound/guarded-post.ts';
import { claimDeliveries, forgetDelivery, type Delivery } from './alert-deliveries.sql.ts';
import { ListedAlertsService } from './listed-alerts.service.ts';

const LOOK_MS = 1_000;
const ATTEMPTS_MAX = 32;

/**
 * Notifies the operator's systems when an alert is raised or resolved: at least once, in JSON, signed by `x-tollgate-signature: t=<unix
 * seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">`. Any 2xx status ends a delivery.
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
    for (const claimed of await claimDeliveries(this.dataSource)) await this.deliver(claimed);
  }

  private async deliver({ alertId, event, attempts }: Delivery): Promise<void> {
    const problem = await this.send(alertId, event).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    );
    if (problem !== undefined && attempts < ATTEMPTS_MAX)
      return this.logger.debug(`alert ${alertId} (${event}) is not delivered yet: ${problem}`);
    if (problem !== undefined)
      this.logger.error(
        `alert ${alertId} (${event}) could not be delivered in ${attempts} attempts: ${problem}`,
      );
    await forgetDelivery(this.dataSource, { alertId, event });
  }

  /** Returns why the delivery was not accepted, or undefined when it was. */
  private async send(alertId: number, event: Delivery['event']): Promise<string | undefined> {
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
