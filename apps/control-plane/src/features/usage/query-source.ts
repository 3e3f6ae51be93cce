/** Runs one statement and returns its rows. */
export interface QuerySource {
  query(sql: string, parameters?: unknown[]): Promise<unknown[]>;
}
