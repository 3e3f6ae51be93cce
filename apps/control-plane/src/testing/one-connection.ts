import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestListener, Server } from 'node:http';
import type { DataSource } from 'typeorm';

interface Scope {
  isOver: boolean;
}
interface Transaction extends Scope {
  hasConnection: boolean;
}
interface Pool {
  obtainMasterConnection: () => Promise<unknown>;
}

/**
 * A transaction that waits for a second connection keeps its own meanwhile: when as many requests do so as the pool has connections, they wait for each other, and all others
 * for them. Here the second connection fails at once. Background work may take one: each runs once at a time.
 */
export function refuseSecondConnections(dataSource: DataSource, server: Server): void {
  const requests = new AsyncLocalStorage<Scope>();
  const transactions = new AsyncLocalStorage<Transaction>();

  const [listener] = server.listeners('request') as RequestListener[];
  if (!listener) throw new Error('The server answers no requests.');
  server.removeListener('request', listener);
  server.on('request', (request, response) => {
    const scope = { isOver: false };
    response.once('close', () => (scope.isOver = true));
    requests.run(scope, () => listener(request, response));
  });

  const begin = dataSource.transaction.bind(dataSource) as (...args: unknown[]) => Promise<unknown>;
  dataSource.transaction = (async (...args: unknown[]) => {
    const scope = { hasConnection: false, isOver: false };
    const result = transactions.run(scope, () => begin(...args));
    return result.finally(() => (scope.isOver = true));
  }) as DataSource['transaction'];

  const pool = dataSource.driver as unknown as Pool;
  const obtain = pool.obtainMasterConnection.bind(pool);
  pool.obtainMasterConnection = async () => {
    const transaction = transactions.getStore();
    if (transaction?.isOver === false && requests.getStore()?.isOver === false) {
      if (transaction.hasConnection)
        throw new Error(
          'A transaction asks for a second connection. Give its tx to what it calls.',
        );
      transaction.hasConnection = true;
    }
    return obtain();
  };
}
