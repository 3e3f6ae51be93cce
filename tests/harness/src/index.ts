export { alterHold, readHold } from './hold-record.ts';
export { builtSchema } from './built-schema.ts';
export {
  answerWithin,
  eventually,
  findFreePort,
  letPass,
  opsEnvironment,
  resolveFaketime,
  resolveRedis,
  until,
} from '@tollgate/tools';
export {
  AdminClient,
  AdminRefusal,
  type NewKey,
  type NewModel,
  type NewPrice,
  type NewRoute,
  type NewSubscription,
  type NewUpstream,
  type SyncResult,
} from '@tollgate/tools';
export {
  createCustomer,
  createDemoUpstream,
  createRoutedModel,
  serviceAccountOf,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type RoutedModelOptions,
} from './customer.ts';
export { startPgBouncer, type PgBouncer } from './pgbouncer.ts';
export {
  backUp,
  firstPostgres,
  startPostgres,
  startStandby,
  type PostgresServer,
} from './postgres-server.ts';
export { preparedKey, preparedPostgres, type PreparedPostgres } from './prepared-postgres.ts';
export { runOps, type OpsAnswer } from './run-ops.ts';
export { startS3Server, type S3Server } from './s3-server.ts';
export { startServices, type RedisKind, type Services, type ServicesOptions } from './services.ts';
export { openStream, type Heard } from './streams.ts';
export { startTraceCollector, type CollectedSpan, type TraceCollector } from './trace-collector.ts';
export type { TollgateOptions } from './tollgate-options.ts';
export { startTollgate, type Tollgate } from './tollgate.ts';
export { tearOlderFile } from './tear-older-file.ts';
