/** Injection token of the connection behind the keyspace classes; features take the classes, each of which is its own token. */
export const REDIS = Symbol('REDIS');
