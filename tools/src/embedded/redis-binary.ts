export interface RedisBinary {
  /** Absolute path. */
  server: string;
  /** The name under which the same binary checks an append-only file. */
  checkerName: string;
  /** What it needs to find its libraries. */
  env: Record<string, string>;
}
