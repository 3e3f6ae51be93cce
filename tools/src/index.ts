/** Exports the parts that the test harness builds on. */
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
} from './admin-client.ts';
export { buildConsole } from './build.ts';
export { checkOut } from './other-checkout.ts';
export { cacheFolder, ROOT, appEntry, type AppName } from './checkout.ts';
export { deployTools, prometheusProgram } from './deploy/deploy-tools.ts';
export { resolveFaketime } from './embedded/debian-faketime.ts';
export {
  debianFolder,
  downloadDebianPackages,
  libraryFolders,
} from './embedded/debian-packages.mjs';
export { embeddedPostgres, postgresUrl, DATABASE_NAME } from './embedded/postgres.ts';
export {
  databaseUrlsOf,
  opsEnvironment,
  rolesSql,
  type DatabaseUrls,
  type RoleUrls,
} from './embedded/postgres-roles.ts';
export {
  copyRunningPostgres,
  makeStandby,
  type PostgresSession,
} from './embedded/postgres-copy.ts';
export { sharedFolder } from './embedded/postgres-binaries.ts';
export { embeddedRedisCluster, redisClusterUrl } from './embedded/redis-cluster.ts';
export { embeddedRedisSentinel, redisSentinelUrl } from './embedded/redis-sentinel.ts';
export { embeddedRedis, redisUrl } from './embedded/redis.ts';
export { redisUrlsOf, type RedisUrls } from './embedded/redis-users.ts';
export { resolveRedis } from './embedded/resolve-redis.ts';
export { isReachable, serviceUser } from './embedded/service-user.ts';
export { findFreePort } from './process/free-port.ts';
export {
  ManagedProcess,
  type ProcessFolders,
  type ProcessSpec,
} from './process/managed-process.ts';
export { startWatchdog } from './process/watchdog.ts';
export {
  appProcess,
  controlPlaneEnvironment,
  LOOPBACK_RANGES,
  nodeEnvironment,
  type Backends,
} from './stack/app-process.ts';
export { seedDemo } from './seed/demo.ts';
export { seedLarge } from './seed/large.ts';
export { closeDemo, playFirstMinute, prepareFirstMinute } from './seed/first-minute.ts';
export { drawSecrets, type Secrets } from './stack/secrets.ts';
export { findInstallation } from './stack/find-installation.ts';
export { answerWithin, eventually, letPass, until } from './testing/waiting.ts';
