export interface RedisBinary {
  /** Is an absolute path. */
  server: string;
  /** Is the name under which the same binary checks an append-only file. */
  checkerName: string;
  /** Holds the variables with which it finds its libraries. */
  env: Record<string, string>;
}
