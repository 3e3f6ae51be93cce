import type { DataSource } from 'typeorm';
import type { Config } from '../../config.ts';
import { Alert } from './alert.entity.ts';
import { AlertsService } from './alerts.service.ts';

/** Entities that a data source needs for it. */
export const ALERT_ENTITIES = [Alert];

/** The service without a running control plane, for the program of administrators. */
export function offlineAlerts(
  dataSource: DataSource,
  config: Pick<Config, 'ALERT_WEBHOOK_URL'>,
): AlertsService {
  return new AlertsService(dataSource.getRepository(Alert), dataSource, config);
}
