import type { RedisKind, Services } from './services.ts';

export interface TollgateOptions {
  /** Counts proxy nodes, named `node-1`, `node-2`, ... */
  nodes?: number;
  /** Counts the processes per node; the first is `node-1`, the next `node-1.1`, ... */
  workers?: number;
  /** Counts replicas of the control plane: `control-plane`, `control-plane-2`, ... */
  controlPlanes?: number;
  frontDoor?: boolean;
  /** Overrides the kind of Redis that TOLLGATE_TEST_REDIS names. */
  redis?: RedisKind;
  /** Is added to the environment of each server of Redis that holds data. */
  redisEnv?: Readonly<Record<string, string>>;
  /** Returns the environment of one process alone, for tests that cut its way to PostgreSQL and Redis. It is asked once per control plane and node. */
  route?: (process: string, services: Services) => Promise<Readonly<Record<string, string>>>;
  /** Is the root of the checkout whose build runs, for comparisons; this one unless given. */
  checkout?: string;
  /** Is added to the environment of every app. */
  env?: Readonly<Record<string, string>>;
}
