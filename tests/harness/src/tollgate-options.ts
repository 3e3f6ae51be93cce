import type { RedisKind, Services } from './services.ts';

export interface TollgateOptions {
  /** Proxy nodes, named `node-1`, `node-2`, ... */
  nodes?: number;
  /** Processes per node; the first is `node-1`, the next `node-1.1`, ... */
  workers?: number;
  /** Replicas of the control plane: `control-plane`, `control-plane-2`, ... */
  controlPlanes?: number;
  frontDoor?: boolean;
  /** Overrides the kind of Redis that TOLLGATE_TEST_REDIS names. */
  redis?: RedisKind;
  /** Added to the environment of each server of Redis that holds data. */
  redisEnv?: Readonly<Record<string, string>>;
  /** Environment of one process alone, for tests that cut its way to PostgreSQL and Redis. Asked once per control plane and node. */
  route?: (process: string, services: Services) => Promise<Readonly<Record<string, string>>>;
  /** Root of the checkout whose build runs, for comparisons; this one unless given. */
  checkout?: string;
  /** Added to the environment of every app. */
  env?: Readonly<Record<string, string>>;
}
