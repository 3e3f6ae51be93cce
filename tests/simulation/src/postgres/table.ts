import type { ModelTransaction } from './transaction.ts';

interface Version<Row> {
  committed: Row | undefined;
  /** Is the row in the view of the transaction that holds it. */
  pending: Row | undefined;
  owner: ModelTransaction | null;
}

/** A row is in the hands of another transaction: the statement waits for its end and begins again. */
export class MustWait extends Error {
  readonly owner: ModelTransaction;

  constructor(owner: ModelTransaction) {
    super('a row is locked');
    this.owner = owner;
  }
}

/** Rows by key, READ COMMITTED: others see a change once it is committed. Rows are replaced, never changed. */
export class Table<Row extends object> {
  readonly #versions = new Map<string, Version<Row>>();
  #lastId = 0;
  /** Is called with each row that a commit changed. */
  onChange: (before: Row | undefined, after: Row | undefined) => void = () => undefined;

  nextId(): number {
    return (this.#lastId += 1);
  }

  get(tx: ModelTransaction, key: string | number): Row | undefined {
    const version = this.#versions.get(String(key));
    return version?.owner === tx ? version.pending : version?.committed;
  }

  all(tx: ModelTransaction): Row[] {
    return [...this.#versions.values()].flatMap(
      (version) => (version.owner === tx ? version.pending : version.committed) ?? [],
    );
  }

  committed(): Row[] {
    return [...this.#versions.values()].flatMap(({ committed }) => committed ?? []);
  }

  isLockedFor(tx: ModelTransaction, key: string | number): boolean {
    const owner = this.#versions.get(String(key))?.owner;
    return owner != null && owner !== tx;
  }

  /** Locks a row until the transaction ends. Throws MustWait while another transaction has it. */
  lock(tx: ModelTransaction, key: string | number): Row | undefined {
    const name = String(key);
    const version = this.#versions.get(name) ?? {
      committed: undefined,
      pending: undefined,
      owner: null,
    };
    if (version.owner && version.owner !== tx) throw new MustWait(version.owner);
    if (!version.owner) {
      version.owner = tx;
      version.pending = version.committed;
      this.#versions.set(name, version);
      tx.onEnd((isCommitted) => this.#release(name, version, isCommitted));
    }
    return version.pending;
  }

  put(tx: ModelTransaction, key: string | number, row: Row): void {
    this.lock(tx, key);
    tx.hasWritten = true;
    const version = this.#versions.get(String(key));
    if (version) version.pending = row;
  }

  remove(tx: ModelTransaction, key: string | number): void {
    this.lock(tx, key);
    tx.hasWritten = true;
    const version = this.#versions.get(String(key));
    if (version) version.pending = undefined;
  }

  #release(name: string, version: Version<Row>, isCommitted: boolean): void {
    const before = version.committed;
    if (isCommitted) version.committed = version.pending;
    version.pending = undefined;
    version.owner = null;
    if (version.committed !== before) this.onChange(before, version.committed);
    if (version.committed === undefined) this.#versions.delete(name);
  }
}
