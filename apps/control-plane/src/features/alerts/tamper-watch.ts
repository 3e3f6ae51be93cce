import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Watch } from '../../platform/background/watch.ts';
import { AlertsService } from './alerts.service.ts';

const LOOK_MS = 60_000;
/** The alert stays open this long after the last finding, because the end of an attack cannot be observed. */
const OPEN_MS = 3_600_000;

/**
 * Resolves `redis_tampered` an hour after the last finding of any process, also while no usage is booked. The alert of a snapshot is resolved
 * earlier, when its publisher sees that the snapshot is intact.
 */
@Injectable()
export class TamperWatch extends Watch {
  constructor(
    private readonly dataSource: DataSource,
    private readonly alerts: AlertsService,
  ) {
    super({
      name: 'tamper-watch',
      everyMs: LOOK_MS,
      failing: 'alerts of a changed Redis cannot be closed; trying again',
    });
  }

  async look(): Promise<void> {
    const { manager } = this.dataSource;
    for (const { subject, unseenMs } of await this.alerts.openOf(manager, 'redis_tampered'))
      if (unseenMs > OPEN_MS)
        await this.alerts.resolve(manager, { rule: 'redis_tampered', subject });
  }
}
