/** Is the injection token of the connection behind the keyspace classes. Features inject the classes, each of which is its own token. */
export const REDIS = Symbol('REDIS');
