import { Logger } from '@nestjs/common';
import pg from 'pg';

const logger = new Logger('postgres');

/**
 * A client that always has a listener for its errors. The pool listens while a client is idle and TypeORM while it is in use; between the two a
 * connection that breaks would be an unhandled error, which ends the process.
 */
export class LastingClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', (error) => logger.debug(error, 'a connection was lost'));
  }
}
