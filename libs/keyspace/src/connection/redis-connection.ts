import type { Cluster, Redis } from 'ioredis';

export type RedisConnection = Redis | Cluster;
