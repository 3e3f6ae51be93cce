/** Holds the largest servers to be had for one installation. */
export interface Limits {
  /** Counts the cores of the largest PostgreSQL server. */
  postgresCoresMax: number;
  diskBytesMax: number;
  walBytesMax: number;
  redisBytesMax: number;
  refillSecondsMax: number;
  redisConnectionsMax: number;
  postgresConnectionsMax: number;
}

/** Holds what an installation must carry. Rates are per second, sizes in bytes, times in seconds. */
export interface Load extends Limits {
  rps: number;
  /** Counts the keys in use. Many keys with few requests each (sparse) cost more rows of sums than few with many (dense). */
  keys: number;
  streamShare: number;
  /** Counts the events of a stream. */
  events: number;
  streamSeconds: number;
  jsonSeconds: number;
  requestBytes: number;
  eventBytes: number;
  retentionDays: number;
  /** Is the share of a core that is planned for; the rest is for peaks. */
  utilisation: number;
  workersPerNode: number;
  shards: number;
  /** Is DATABASE_POOL_MAX of a control plane. */
  pool: number;
}

export interface Plan {
  nodeCores: number;
  workers: number;
  /** Is one more than the load needs, so that one may be lost or replaced. */
  nodes: number;
  openRequests: number;
  memoryBytesPerNode: number;
  redisCores: number;
  redisPrimaries: number;
  controlPlaneCores: number;
  controlPlanes: number;
  postgresCores: number;
  /** Is null while the storage has not been measured. */
  storage: StoragePlan | null;
  networkBytesPerSecond: number;
  redisBytesPerPrimary: number;
  /** Is the time in which a Redis that lost its data is filled again. */
  refillSeconds: number;
  /** One primary has the queue, and one the configuration and the fleet. */
  queueCores: number;
  fleetCores: number;
  redisConnections: number;
  postgresConnections: number;
  /** Installations, with accounts divided between them, when one PostgreSQL server or one Redis Cluster is not enough. */
  cells: number;
  notes: string[];
  /** Names each limit that one installation exceeds, with its remedy. */
  refusals: string[];
}

export interface StoragePlan {
  commitsPerSecond: number;
  walBytesPerSecond: number;
  tableBytesPerDay: number;
  /** Counts single requests of all days that are kept, and the sums of usage. */
  tableBytesKept: number;
  /** Counts the rows of sums by day that a day adds; by hour and minute there are up to 24 and 1,440 times as many, for a while. */
  sumsPerDay: number;
}
