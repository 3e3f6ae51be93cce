import { Logger } from '@nestjs/common';
import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../../config.ts';
import { LastingClient } from './lasting-client.ts';
import { SnakeCaseNames } from './snake-case-names.ts';
import { Initial1763683200000 } from './migrations/1763683200000-initial.ts';
import { AttemptCounters1763686800000 } from './migrations/1763686800000-attempt-counters.ts';
import { Payments1763686900000 } from './migrations/1763686900000-payments.ts';
import { AlertDeliveries1763690400000 } from './migrations/1763690400000-alert-deliveries.ts';
import { LateUsage1763694000000 } from './migrations/1763694000000-late-usage.ts';
import { ModelAliases1763697600000 } from './migrations/1763697600000-model-aliases.ts';
import { LiveRevisions1763701200000 } from './migrations/1763701200000-live-revisions.ts';
import { HouseBalances1763704800000 } from './migrations/1763704800000-house-balances.ts';
import { UsageTotals1763708400000 } from './migrations/1763708400000-usage-totals.ts';
import { FailedRequests1763712000000 } from './migrations/1763712000000-failed-requests.ts';
import { RefusedRecharges1763715600000 } from './migrations/1763715600000-refused-recharges.ts';
import { DeclaredPrices1795321027539 } from './migrations/1795321027539-declared-prices.ts';
import { PremiumPrices1795323326427 } from './migrations/1795323326427-premium-prices.ts';
import { SessionsAndAccessTokens1795320000000 } from './migrations/1795320000000-sessions-and-access-tokens.ts';
import { BillingOnClose1795321238899 } from './migrations/1795321238899-billing-on-close.ts';
import { RedisTrust1795320996197 } from './migrations/1795320996197-redis-trust.ts';
import { StreamEvents1795321759731 } from './migrations/1795321759731-stream-events.ts';
import { ModelFailover1795321446744 } from './migrations/1795321446744-model-failover.ts';
import { DroppedDays1795323074722 } from './migrations/1795323074722-dropped-days.ts';
import { RouteWindow1795323859912 } from './migrations/1795323859912-route-window.ts';
import { AudioAndHourClasses1795333200000 } from './migrations/1795333200000-audio-and-hour-classes.ts';
import { LimitField1795325322799 } from './migrations/1795325322799-limit-field.ts';
import { TemporaryKeys1795323279805 } from './migrations/1795323279805-temporary-keys.ts';
import { BooksProofs1795324506281 } from './migrations/1795324506281-books-proofs.ts';
import { DeadLetterResolutions1795324000000 } from './migrations/1795324000000-dead-letter-resolutions.ts';
import { ReadsMoreThanSent1795323618335 } from './migrations/1795323618335-reads-more-than-sent.ts';
import { WalletPayouts1795325457961 } from './migrations/1795325457961-wallet-payouts.ts';
import { Twins1795331309000 } from './migrations/1795331309000-twins.ts';
import { OneTimePasswords1795324758784 } from './migrations/1795324758784-one-time-passwords.ts';
import { ModelFamilies1795332600000 } from './migrations/1795332600000-model-families.ts';
import { TokenEntriesNewest1795330200000 } from './migrations/1795330200000-token-entries-newest.ts';
import { ArmedRecharges1795332000000 } from './migrations/1795332000000-armed-recharges.ts';
import { ProviderPayouts1795333800000 } from './migrations/1795333800000-provider-payouts.ts';
import { UsageArchives1795336000000 } from './migrations/1795336000000-usage-archives.ts';
import { UpstreamEndpoints1795342800000 } from './migrations/1795342800000-upstream-endpoints.ts';
import { RequestCeilings1795337000000 } from './migrations/1795337000000-request-ceilings.ts';
import { Restores1795344000000 } from './migrations/1795344000000-restores.ts';
import { Erasure1795345000000 } from './migrations/1795345000000-erasure.ts';
import { FormerNodeCredentials1795346000000 } from './migrations/1795346000000-former-node-credentials.ts';
import { UsersNewest1795347000000 } from './migrations/1795347000000-users-newest.ts';
import { UpstreamFileIds1795348000000 } from './migrations/1795348000000-upstream-file-ids.ts';
import { HoldMacs1795348500000 } from './migrations/1795348500000-hold-macs.ts';
import { UsersSearch1795349000000 } from './migrations/1795349000000-users-search.ts';
import { ShardCounts1795350000000 } from './migrations/1795350000000-shard-counts.ts';
import { OwnerFunctions1795351000000 } from './migrations/1795351000000-owner-functions.ts';
import { ExactPowers1795352000000 } from './migrations/1795352000000-exact-powers.ts';
import { ActivityByToken1795352100000 } from './migrations/1795352100000-activity-by-token.ts';
import { CreditsWithoutMarks1795352300000 } from './migrations/1795352300000-credits-without-marks.ts';
import { UpstreamFields1795353000000 } from './migrations/1795353000000-upstream-fields.ts';
import { GuardedErasure1795353000000 } from './migrations/1795353000000-guarded-erasure.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** As for the server; ten probes of a second each follow. */
const KEEP_ALIVE_AFTER_MS = 15_000;
/** No statement of a request runs this long; a stuck one must not hold row locks without end. */
const STATEMENT_TIMEOUT_MS = 30_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;

/**
 * What the control plane's statements depend on. Every role may change these for itself (ALTER ROLE ... SET); what a connection asks for comes first.
 * Times leave and enter as UTC. Compiling a statement costs more than any of these takes. A client whose machine vanished keeps its locks
 * until the server notices: here within half a minute, not two hours.
 */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  search_path: 'public',
  timezone: 'UTC',
  jit: 'off',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  lock_timeout: '0',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  tcp_keepalives_idle: '15',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
};

const logger = new Logger('postgres');

/** In the order in which they run. A new one is added at the end. */
const MIGRATIONS = [
  Initial1763683200000,
  AttemptCounters1763686800000,
  Payments1763686900000,
  AlertDeliveries1763690400000,
  LateUsage1763694000000,
  ModelAliases1763697600000,
  LiveRevisions1763701200000,
  HouseBalances1763704800000,
  UsageTotals1763708400000,
  FailedRequests1763712000000,
  RefusedRecharges1763715600000,
  DeclaredPrices1795321027539,
  PremiumPrices1795323326427,
  SessionsAndAccessTokens1795320000000,
  BillingOnClose1795321238899,
  RedisTrust1795320996197,
  StreamEvents1795321759731,
  ModelFailover1795321446744,
  DroppedDays1795323074722,
  RouteWindow1795323859912,
  AudioAndHourClasses1795333200000,
  LimitField1795325322799,
  TemporaryKeys1795323279805,
  BooksProofs1795324506281,
  DeadLetterResolutions1795324000000,
  ReadsMoreThanSent1795323618335,
  WalletPayouts1795325457961,
  OneTimePasswords1795324758784,
  TokenEntriesNewest1795330200000,
  ArmedRecharges1795332000000,
  ModelFamilies1795332600000,
  ProviderPayouts1795333800000,
  UsageArchives1795336000000,
  UpstreamEndpoints1795342800000,
  Twins1795331309000,
  RequestCeilings1795337000000,
  Restores1795344000000,
  Erasure1795345000000,
  FormerNodeCredentials1795346000000,
  UsersNewest1795347000000,
  UpstreamFileIds1795348000000,
  HoldMacs1795348500000,
  UsersSearch1795349000000,
  ShardCounts1795350000000,
  OwnerFunctions1795351000000,
  ExactPowers1795352000000,
  ActivityByToken1795352100000,
  CreditsWithoutMarks1795352300000,
  UpstreamFields1795353000000,
  GuardedErasure1795353000000,
] as const;

/** Entities are added by the features that own them (TypeOrmModule.forFeature). */
export function dataSourceOptions(config: Pick<Config, 'DATABASE_URL' | 'DATABASE_POOL_MAX'>) {
  return {
    type: 'postgres',
    url: config.DATABASE_URL,
    applicationName: 'tollgate-control-plane',
    poolSize: config.DATABASE_POOL_MAX,
    synchronize: false,
    namingStrategy: new SnakeCaseNames(),
    migrations: [...MIGRATIONS],
    migrationsTableName: 'migrations',
    // An idle connection that PostgreSQL drops must not take the process with it.
    poolErrorHandler: (error: unknown) => logger.warn(error, 'an idle connection was lost'),
    extra: {
      Client: LastingClient,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      // A server whose machine vanished answers no statement and closes no connection: without probes its client would wait without end.
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      options: Object.entries(SESSION_SETTINGS)
        .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
        .join(' '),
    },
  } satisfies DataSourceOptions;
}
