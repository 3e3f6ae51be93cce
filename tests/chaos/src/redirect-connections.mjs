/**
 * This file is loaded into an app with --import: what it would connect to on a port named in REDIRECTED_PORTS (JSON, port to port) it reaches on the other, as
 * a network that translates addresses would have it. Addresses an app learns from a store itself, of a cluster's primaries or a promoted replica, are translated too.
 */
import { Socket } from 'node:net';

const redirected = new Map(Object.entries(JSON.parse(process.env.REDIRECTED_PORTS ?? '{}')));
const connect = Socket.prototype.connect;

/** The arguments are `(port, host, listener)`, `(options, listener)`, or both in one array, as net.createConnection hands them on. */
Socket.prototype.connect = function connectRedirected(...given) {
  const [target, ...rest] = Array.isArray(given[0]) ? given[0] : given;
  if (typeof target !== 'object')
    return connect.call(this, redirected.get(String(target)) ?? target, ...rest);
  return connect.call(
    this,
    { ...target, port: redirected.get(String(target.port)) ?? target.port },
    ...rest,
  );
};
