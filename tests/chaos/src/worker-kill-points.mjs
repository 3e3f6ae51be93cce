// This file is loaded into every app with `node --import`. It ends the process with -9 at a named point of booking usage, once for each file of the point's name.
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Acknowledgements } from '@tollgate/keyspace';
import pg from 'pg';

function reach(point) {
  const order = path.join(process.env.KILL_POINTS ?? '', point);
  if (!existsSync(order)) return;
  rmSync(order);
  process.kill(process.pid, 'SIGKILL');
}

const { push } = Acknowledgements.prototype;
Acknowledgements.prototype.push = async function (...args) {
  reach('before-acknowledgement');
  await push.apply(this, args);
  reach('after-acknowledgement');
};

const booking = new WeakSet();
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (...args) {
  const text = typeof args[0] === 'string' ? args[0] : (args[0]?.text ?? '');
  if (text.includes('INSERT INTO usage_events')) booking.add(this);
  if (text === 'COMMIT' && booking.delete(this)) reach('before-commit');
  return query.apply(this, args);
};
